/** Lists what is in a backup of either form, on any machine. See firmware/backup/container.ts and nethsm/container.ts. */

import { closeSync, openSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createPassphraseEditor } from '../boot/terminal/passphrase-editor.ts'
import { BACKUP_COST } from '../firmware/backup/backup-key.ts'
import { BACKUP_COLLECTIONS, type BackupCollection } from '../firmware/backup/container.ts'
import { openBackup as openForeign, readPreamble } from '../firmware/backup/nethsm/container.ts'
import { recordsOf } from '../firmware/backup/nethsm/import-records.ts'
import { readPath, storeKeysOf } from '../firmware/backup/nethsm/paths.ts'
import type { Imports } from '../firmware/backup/nethsm/records.ts'
import { inspect } from '../firmware/backup/nethsm/restore.ts'
import { openBackup, readSalt, recognise, type Source } from '../firmware/backup/reader.ts'
import { omissionText } from '../firmware/backup/restore-report.ts'
import { fileSource } from '../firmware/backup/spool.ts'
import { formatTime } from '../firmware/base/clock.ts'
import { defined } from '../firmware/base/defined.ts'
import { printable } from '../firmware/base/printable.ts'
import { wipe } from '../firmware/base/secret.ts'
import { deriveKey } from '../firmware/crypto/kdf.ts'
import { importKey, importRsaKey } from '../firmware/crypto/pool/operations.ts'
import { systemRandom } from '../firmware/crypto/random.ts'
import { decodeBucket } from '../firmware/kms/domain/key-counts.ts'
import { decodeKey } from '../firmware/kms/domain/key-record.ts'
import { decodeNamespace } from '../firmware/kms/domain/namespaces.ts'
import { decodeUser } from '../firmware/kms/domain/user-record.ts'
import { lockedSlot, openWithPassphrase, UNLOCK_COST } from '../firmware/store/key-slots.ts'
import { createRowReader } from '../firmware/store/sealed-row.ts'

const HELP = `Lists what is in a backup, and checks that all of it is there and can be opened.

  node tools/backup-list.ts FILE [--backup-passphrase-file PATH] [--unlock-passphrase-file PATH]

Both passphrases are those of the time when the backup was made. They are asked for at the terminal, or read from files (a
line break at the end does not count); they are never given on the command line, where others could see them. Users,
namespaces and keys are listed; private keys and certificates are opened and counted, never shown.

Exit status: 0 when the backup is whole, 1 when it is not or a passphrase is wrong, 2 when the command is wrong.`

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
    const descriptor = openSync(defined(file), 'r')
    try {
      await listBackup(
        () => fileSource(descriptor),
        backupPassphrase,
        unlockPassphrase,
        (line) => console.log(printable(line)),
      )
    } finally {
      closeSync(descriptor)
    }
    return 0
  } catch (error) {
    console.error((error as Error).message)
    return 1
  }
}

type Write = (line: string) => void

/** Writes a line for each thing as it comes. Throws when the backup is not whole or a passphrase wrong; wipes both. */
async function listBackup(
  open: () => Source,
  backupPassphrase: Uint8Array,
  unlockPassphrase: Uint8Array,
  write: Write,
): Promise<void> {
  const list = recognise(open()) === 'nethsm' ? listForeign : listOwn
  try {
    await list(open, backupPassphrase, unlockPassphrase, write)
  } finally {
    wipe(backupPassphrase, unlockPassphrase)
  }
}

async function listOwn(open: () => Source, backupPassphrase: Uint8Array, unlockPassphrase: Uint8Array, write: Write) {
  const source = open()
  const backupKey = deriveKey(backupPassphrase, readSalt(source), BACKUP_COST)
  const backup = openBackup(source, backupKey)
  const { header } = backup
  const domainKey = await domainKeyOf(header.attendedSlot, unlockPassphrase)
  try {
    const unattended = header.unattendedSlot.length > 0 ? 'on' : 'off'
    write(`made ${formatTime(header.madeAtMs)} on device ${header.deviceId}, unattended start ${unattended}`)
    const counts = new Map<string, number>()
    const used = new Map<bigint, number>()
    const readers = readersOf(domainKey)
    let chatBytes = 0
    for (const record of backup.records()) {
      if ('slot' in record) {
        const opened = readers[record.collection].open(record)
        if (opened === null) throw new Error(`A record of ${record.collection} cannot be opened`)
        if (record.collection === 'counts')
          for (const [slot, count] of decodeBucket(opened.value).counts) used.set(slot, (used.get(slot) ?? 0) + count)
        describe(record.collection, opened.value, counts, write, used.get(record.slot))
      } else if ('file' in record) chatBytes += record.bytes.length
      else write(`device record: ${record.name}`)
    }
    backup.close()
    if (chatBytes > 0) write(`chat: ${chatBytes} bytes`)
    write(`complete: ${totals(LISTED, counts)}`)
  } finally {
    wipe(backupKey, domainKey)
  }
}

/** A backup in the form of a NetHSM, read twice: the salt may come after what it opens. */
async function listForeign(
  open: () => Source,
  backupPassphrase: Uint8Array,
  unlockPassphrase: Uint8Array,
  write: Write,
) {
  const { version, salt } = readPreamble(open())
  const backupKey = deriveKey(backupPassphrase, salt, BACKUP_COST)
  const secrets = [backupKey]
  const reopen = () => {
    const source = open()
    readPreamble(source)
    const backup = openForeign(source, version, backupKey)
    secrets.push(backup.origin.settingsKey)
    return backup
  }
  try {
    const { origin, entries } = reopen()
    const found = await inspect(entries(), origin)
    const slot = lockedSlot({ salt: found.salt, locked: origin.lockedDomainKey }, UNLOCK_COST)
    const domainKey = await domainKeyOf(slot, unlockPassphrase)
    const keys = storeKeysOf(domainKey)
    secrets.push(domainKey, ...Object.values(keys), ...found.settings.values())
    write(`in the form of a NetHSM, version ${version}${version === 0 ? '' : `, made on device ${origin.deviceId}`}`)
    for (const name of found.settings.keys()) write(`device record: ${name}`)
    const counts = new Map<string, number>()
    const paths = new Set<string>()
    for (const { path, value } of reopen().entries()) {
      if (paths.has(path)) throw new Error(`${path} is in the backup twice`)
      paths.add(path)
      const place = readPath(path, origin.deviceId)
      if (!place || place.store === 'local' || place.store === 'config') continue
      const { changes, omissions } = await recordsOf({ path, value }, keys, IMPORTS)
      for (const omission of omissions) write(omissionText(omission))
      for (const { collection, value } of changes) if (value !== null) describe(collection, value, counts, write)
    }
    write(
      `complete: ${totals(
        LISTED.filter((name) => name !== 'configuration'),
        counts,
      )}`,
    )
  } finally {
    wipe(...secrets)
  }
}

const LISTED = BACKUP_COLLECTIONS.filter((name) => name !== 'counts' && name !== 'heads')

const totals = (names: readonly string[], counts: ReadonlyMap<string, number>): string =>
  names.map((name) => `${counts.get(name) ?? 0} ${name}`).join(', ')

const IMPORTS: Imports = {
  importRaw: async (type, data) => importKey(type, data),
  importRsa: async (p, q, e) => importRsaKey(p, q, e, systemRandom),
}

async function domainKeyOf(slot: Uint8Array, unlockPassphrase: Uint8Array): Promise<Uint8Array> {
  const scrypt = async (...parameters: Parameters<typeof deriveKey>) => deriveKey(...parameters)
  const opened = await openWithPassphrase(slot, unlockPassphrase, { pool: { scrypt }, random: systemRandom })
  if (opened === null) throw new Error('Wrong unlock passphrase')
  return opened.domainKey
}

function readersOf(domainKey: Uint8Array): Record<BackupCollection, ReturnType<typeof createRowReader>> {
  const entries = BACKUP_COLLECTIONS.map((name) => [name, createRowReader(name, domainKey)])
  return Object.fromEntries(entries)
}

/** Writes a line, but for what is counted only; wipes the value. `used`: how often a key was, beside what is in its record. */
function describe(
  collection: BackupCollection,
  value: Uint8Array,
  counts: Map<string, number>,
  write: Write,
  used = 0,
): void {
  const line = lineOf(collection, value, used)
  if (line !== null) write(line)
  wipe(value)
  counts.set(collection, (counts.get(collection) ?? 0) + 1)
}

function lineOf(collection: BackupCollection, value: Uint8Array, used: number): string | null {
  if (collection === 'users') {
    const { id, role, realName, tags } = decodeUser(value)
    return `user ${id}: ${role}, ${JSON.stringify(realName)}${tagged(tags)}`
  }
  if (collection === 'namespaces') {
    const { id, state } = decodeNamespace(value)
    return `namespace ${id}${state === 'doomed' ? ', deleted' : ''}`
  }
  if (collection !== 'keys') return null
  const { namespace, id, typeName, mechanisms, tags, label, operations, certificate } = decodeKey(value)
  return [
    `key ${namespace === '' ? id : `${namespace}/${id}`}: ${typeName}, ${mechanisms.join(' ') || 'no mechanisms'}`,
    `, ${operations + used} operations${tagged(tags)}`,
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
      wipe(bytes)
    }
    throw new Error('The terminal was closed')
  } finally {
    editor.clear()
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

if (import.meta.main) process.exitCode = await main()
