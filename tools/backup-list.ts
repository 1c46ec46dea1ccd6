/** Lists what is in a backup, on any machine. The container is that of firmware/backup/container.ts. */

import { closeSync, openSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createPassphraseEditor } from '../boot/passphrase-editor.ts'
import { BACKUP_COST } from '../firmware/backup/backup-key.ts'
import { BACKUP_COLLECTIONS, type BackupCollection } from '../firmware/backup/container.ts'
import { openBackup, readSalt, type Source } from '../firmware/backup/reader.ts'
import { fileSource } from '../firmware/backup/spool.ts'
import { formatTime } from '../firmware/clock.ts'
import { deriveKey } from '../firmware/crypto/kdf.ts'
import { wipe } from '../firmware/crypto/seal.ts'
import { decodeKey } from '../firmware/domain/key-record.ts'
import { decodeUser } from '../firmware/domain/user-record.ts'
import { openWithPassphrase } from '../firmware/keyslots.ts'
import { createRowReader } from '../firmware/store/sealed-table.ts'

const HELP = `Lists what is in a backup, and checks that all of it is there and can be opened.

  node tools/backup-list.ts FILE [--backup-passphrase-file PATH] [--unlock-passphrase-file PATH]

Both passphrases are those of the time when the backup was made. They are asked for at the terminal, or read from files (a
line break at the end does not count); they are never given on the command line, where others could see them. Users,
namespaces and keys are listed; private keys and certificates are opened and counted, never shown.

Exit status: 0 when the backup is whole, 1 when it is not or a passphrase is wrong, 2 when the command is wrong.`

if (import.meta.main) process.exitCode = await main()

async function main(): Promise<number> {
  let file: string | undefined
  let values: { help?: boolean; 'backup-passphrase-file'?: string; 'unlock-passphrase-file'?: string }
  try {
    const text = { type: 'string' } as const
    const options = {
      help: { type: 'boolean' },
      'backup-passphrase-file': text,
      'unlock-passphrase-file': text,
    } as const
    const parsed = parseArgs({ allowPositionals: true, options })
    values = parsed.values
    file = parsed.positionals[0]
    if (parsed.positionals.length !== 1 && !values.help) throw new Error('One file is needed')
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${HELP}`)
    return 2
  }
  if (values.help) {
    console.log(HELP)
    return 0
  }
  try {
    const backupPassphrase = await passphraseFrom(values['backup-passphrase-file'], 'Backup passphrase: ')
    const unlockPassphrase = await passphraseFrom(values['unlock-passphrase-file'], 'Unlock passphrase: ')
    const descriptor = openSync(file!, 'r')
    try {
      await listBackup(fileSource(descriptor), backupPassphrase, unlockPassphrase, (line) => console.log(line))
    } finally {
      closeSync(descriptor)
    }
    return 0
  } catch (error) {
    console.error((error as Error).message)
    return 1
  }
}

/** Writes a line for each thing as it comes. Throws when the backup is not whole or a passphrase wrong; wipes both. */
export async function listBackup(
  source: Source,
  backupPassphrase: Uint8Array,
  unlockPassphrase: Uint8Array,
  write: (line: string) => void,
): Promise<void> {
  const secrets = [backupPassphrase, unlockPassphrase]
  try {
    const backupKey = deriveKey(backupPassphrase, readSalt(source), BACKUP_COST)
    secrets.push(backupKey)
    const backup = openBackup(source, backupKey)
    const { header } = backup
    const scrypt = async (...parameters: Parameters<typeof deriveKey>) => deriveKey(...parameters)
    const domainKey = await openWithPassphrase(header.attendedSlot, unlockPassphrase, { scrypt })
    if (domainKey === null) throw new Error('Wrong unlock passphrase')
    secrets.push(domainKey)
    const unattended = header.unattendedSlot.length > 0 ? 'on' : 'off'
    write(`made ${formatTime(header.madeAtMs)} on device ${header.deviceId}, unattended start ${unattended}`)
    const counts = new Map<string, number>()
    const open = readers(domainKey)
    for (const record of backup.records()) {
      if ('slot' in record) {
        const value = open[record.collection](record)
        if (value === null) throw new Error(`A record of ${record.collection} cannot be opened`)
        const line = describe(record.collection, value)
        if (line !== null) write(line)
        value.fill(0)
        counts.set(record.collection, (counts.get(record.collection) ?? 0) + 1)
      } else write(`device record: ${record.name}`)
    }
    backup.close()
    write(`complete: ${BACKUP_COLLECTIONS.map((name) => `${counts.get(name) ?? 0} ${name}`).join(', ')}`)
  } finally {
    wipe(...secrets)
  }
}

function readers(domainKey: Uint8Array): Record<BackupCollection, ReturnType<typeof createRowReader>> {
  const entries = BACKUP_COLLECTIONS.map((name) => [name, createRowReader(name, domainKey)])
  return Object.fromEntries(entries)
}

/** Null for what is counted only. */
function describe(collection: BackupCollection, value: Uint8Array): string | null {
  if (collection === 'users') {
    const { id, role, realName, tags } = decodeUser(value)
    return `user ${id}: ${role}, ${JSON.stringify(realName)}${tagged(tags)}`
  }
  if (collection === 'namespaces') return `namespace ${new TextDecoder().decode(value)}`
  if (collection !== 'keys') return null
  const { namespace, id, typeName, mechanisms, tags, label, operations, certificate } = decodeKey(value)
  return [
    `key ${namespace === '' ? id : `${namespace}/${id}`}: ${typeName}, ${mechanisms.join(' ') || 'no mechanisms'}`,
    `, ${operations} operations${tagged(tags)}`,
    label === '' ? '' : `, label ${JSON.stringify(label)}`,
    certificate === null ? '' : ', with certificate',
  ].join('')
}

function tagged(tags: readonly string[]): string {
  return tags.length === 0 ? '' : `, tags ${tags.join(' ')}`
}

async function passphraseFrom(path: string | undefined, prompt: string): Promise<Uint8Array> {
  if (path === undefined) return ask(prompt)
  const bytes = readFileSync(path)
  const end = /\r?\n$/.exec(bytes.toString('latin1'))?.index ?? bytes.length
  return new Uint8Array(bytes.subarray(0, end))
}

/** Without echo. */
async function ask(prompt: string): Promise<Uint8Array> {
  const { stdin, stderr } = process
  if (!stdin.isTTY) throw new Error('There is no terminal to ask at: give the passphrases in files, see --help')
  stderr.write(prompt)
  stdin.setRawMode(true)
  const editor = createPassphraseEditor()
  try {
    for await (const bytes of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      for (const byte of bytes) {
        const typed = editor.feed(byte)
        if (typed === 'interrupt') throw new Error('Interrupted')
        if (typed !== 'enter') continue
        const passphrase = editor.take()
        if (passphrase === null) throw new Error('The passphrase is too long')
        return passphrase
      }
      bytes.fill(0)
    }
    throw new Error('The terminal was closed')
  } finally {
    editor.clear()
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
