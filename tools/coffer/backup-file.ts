/** Backups in NetHSM's form, read here: contract sections 8.1 and 8.2. What their entries hold stays sealed by the unlock passphrase. */

import { createDecipheriv, scryptSync } from 'node:crypto'
import { EXIT, Failure } from './failure.ts'

interface BackupFile {
  version: number
  /** Base64, as all below. */
  salt: string
  domainKey?: string
  /** Empty without a passphrase. */
  entries: { path: string; value: string }[]
}

const MAGIC = '_NETHSM_BACKUP_'
const END = '_NETHSM_BACKUP_END_'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SCRYPT = { N: 16_384, r: 8, p: 16, maxmem: 64 * 1024 * 1024 }

/** Throws `Failure` when the file is of another kind, cut, or the passphrase is wrong. */
export function openBackup(bytes: Buffer, passphrase: string | null): BackupFile {
  if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw refused('not a backup in NetHSM’s form', 'backups made with --format coffer are validated by restoring them')
  const version = bytes[MAGIC.length] ?? 0
  if (version > 1) throw refused(`a backup of format ${version}, which is not known`)
  const end = version === 1 ? bytes.length - END.length - LENGTH_BYTES : bytes.length
  if (version === 1 && bytes.toString('latin1', end + LENGTH_BYTES) !== END)
    throw refused('the backup is cut: its end is missing')
  let at = MAGIC.length + 1
  const field = (): Buffer => {
    const size = at + LENGTH_BYTES <= end ? bytes.readUIntBE(at, LENGTH_BYTES) : Number.POSITIVE_INFINITY
    const start = at + LENGTH_BYTES
    if (start + size > end) throw refused('the backup is cut')
    at = start + size
    return bytes.subarray(start, at)
  }
  const salt = field()
  const file: BackupFile = { version, salt: salt.toString('base64'), entries: [] }
  const key = passphrase === null ? null : scryptSync(passphrase, salt, 32, SCRYPT)
  const sealed = (name: string): Buffer => {
    const value = field()
    return key === null ? value : unsealed(value, key, name)
  }
  const inner = sealed('backup-version')
  if (key !== null && inner[0] !== version) throw refused('the backup was changed: it has two versions')
  const domainKey = sealed('domain-key')
  if (key !== null) file.domainKey = domainKey.toString('base64')
  if (version === 1) for (const name of ['backup-device-id', 'backup-config-store-key']) sealed(name)
  while (at < end) {
    const entry = sealed('backup')
    if (key === null) continue
    const size = entry.readUIntBE(0, LENGTH_BYTES)
    const path = entry.toString('utf8', LENGTH_BYTES, LENGTH_BYTES + size)
    file.entries.push({ path, value: entry.toString('base64', LENGTH_BYTES + size) })
  }
  return file
}

const LENGTH_BYTES = 3

function unsealed(value: Buffer, key: Buffer, name: string): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, value.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(name)).setAuthTag(value.subarray(value.length - TAG_BYTES))
    return Buffer.concat([decipher.update(value.subarray(NONCE_BYTES, value.length - TAG_BYTES)), decipher.final()])
  } catch {
    throw refused('the passphrase is wrong, or the backup was changed')
  }
}

const refused = (message: string, hint?: string) => new Failure(EXIT.refused, message, hint)
