/**
 * The form of a NetHSM's backups, contract section 8.1: in clear a magic with a version byte and the salt of the backup
 * passphrase, then fields sealed by the backup key, each with its length before it: first what the backup is of, then
 * one for each entry of the store, a path and its value. Version 1 has an end.
 *
 * The form itself shows no entry that is missing. A backup made here says so in the key of its settings, and then its
 * last entry, sealed by that key, holds the number of entries before it and a hash of them in order.
 */

import { createHash, type Hash } from 'node:crypto'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { GCM_OVERHEAD_BYTES, openGcm, sealGcm } from '../../crypto/gcm.ts'
import type { Random } from '../../crypto/random.ts'
import { equalBytes, SEAL_KEY_BYTES } from '../../crypto/seal.ts'
import { SALT_BYTES } from '../container.ts'
import type { Source } from '../reader.ts'

export const MAGIC = utf8ToBytes('_NETHSM_BACKUP_')
const VERSION = 1
const LENGTH_BYTES = 3
const END = concatBytes(new Uint8Array(LENGTH_BYTES), utf8ToBytes('_NETHSM_BACKUP_END_'))
const DEVICE_ID_BYTES_MAX = 64 // ten characters
const LOCKED_KEY_BYTES = SEAL_KEY_BYTES + GCM_OVERHEAD_BYTES

/** The largest entry is a key with a certificate of 1 MiB, of which each byte may have become six characters. */
const ENTRY_BYTES_MAX = 8 * 1024 * 1024

/** A backup's description of itself. */
export interface Origin {
  version: 0 | 1
  /** The domain key sealed by the unlock key alone. */
  lockedDomainKey: Uint8Array
  /** Empty in version 0, as are the next two. */
  deviceId: string
  /** Opens the settings that lie under `/local/<device id>/config`. */
  settingsKey: Uint8Array
}

export interface BackupEntry {
  /** Begins with a slash. */
  path: string
  value: Uint8Array
}

/** Where the last entry of a backup that was made here lies. */
const completenessPath = (deviceId: string): string => `/local/${deviceId}/config/coffer-complete`

// ---- writing

export const encodePreamble = (salt: Uint8Array): Uint8Array => concatBytes(MAGIC, Uint8Array.of(VERSION), field(salt))

export function encodeOrigin(
  { lockedDomainKey, deviceId, settingsKey }: Omit<Origin, 'version'>,
  backupKey: Uint8Array,
  random: Random,
): Uint8Array {
  const sealed = (context: string, value: Uint8Array) => field(sealGcm(backupKey, context, value, random))
  return concatBytes(
    sealed('backup-version', Uint8Array.of(VERSION)),
    sealed('domain-key', lockedDomainKey),
    sealed('backup-device-id', utf8ToBytes(deviceId)),
    sealed('backup-config-store-key', settingsKey),
  )
}

/** Encodes the entries of one backup in order, and what ends it. */
export class EntryWriter {
  readonly #backupKey: Uint8Array
  readonly #random: Random
  readonly #tally = new Tally()

  constructor(backupKey: Uint8Array, random: Random) {
    this.#backupKey = backupKey
    this.#random = random
  }

  encode(entry: BackupEntry): Uint8Array {
    this.#tally.add(entry)
    return this.#encode(entry)
  }

  end({ deviceId, settingsKey }: Pick<Origin, 'deviceId' | 'settingsKey'>): Uint8Array {
    const path = completenessPath(deviceId)
    const value = sealGcm(settingsKey, path, this.#tally.digest(), this.#random)
    return concatBytes(this.#encode({ path, value }), END)
  }

  #encode({ path, value }: BackupEntry): Uint8Array {
    const plain = concatBytes(field(utf8ToBytes(path)), value)
    try {
      return field(sealGcm(this.#backupKey, 'backup', plain, this.#random))
    } finally {
      wipe(plain)
    }
  }
}

const MARK_BYTES = 16

/** A fresh key for the settings, in which who has the backup key finds that the backup was made here. */
export function newSettingsKey(backupKey: Uint8Array, random: Random): Uint8Array {
  const start = random(SEAL_KEY_BYTES - MARK_BYTES)
  return concatBytes(start, markAfter(start, backupKey))
}

const isOurs = ({ settingsKey }: Origin, backupKey: Uint8Array): boolean => {
  const start = settingsKey.subarray(0, SEAL_KEY_BYTES - MARK_BYTES)
  return equalBytes(settingsKey.subarray(start.length), markAfter(start, backupKey))
}

const markAfter = (start: Uint8Array, backupKey: Uint8Array): Uint8Array =>
  hmac(sha256, backupKey, concatBytes(utf8ToBytes('coffer backup in the form of a NetHSM'), start)).subarray(
    0,
    MARK_BYTES,
  )

/** The number of entries and a hash of all of them. */
class Tally {
  readonly #hash: Hash = createHash('sha256')
  #count = 0

  add({ path, value }: BackupEntry): void {
    this.#count++
    this.#hash.update(field(utf8ToBytes(path))).update(field(value))
  }

  digest(): Uint8Array {
    const count = new DataView(new ArrayBuffer(8))
    count.setBigUint64(0, BigInt(this.#count))
    return concatBytes(new Uint8Array(count.buffer), this.#hash.copy().digest())
  }
}

// ---- reading

/** The version, and the salt of the passphrase that opens the backup. Throws `invalid`. */
export function readPreamble(source: Source): { version: 0 | 1; salt: Uint8Array } {
  const version = source.read(MAGIC.length + 1)[MAGIC.length]
  if (version !== 0 && version !== 1)
    throw new CofferError('invalid', 'The backup has a version this software does not know')
  const salt = readField(source)?.slice()
  if (salt?.length !== SALT_BYTES) throw damaged()
  return { version, salt }
}

/** Opens the part after the salt. Throws `invalid`, also for a wrong passphrase. */
export function openBackup(source: Source, version: 0 | 1, backupKey: Uint8Array): OpenNethsmBackup {
  const open = (context: string): Uint8Array => {
    const sealed = readField(source)
    const value = sealed === null ? null : openGcm(backupKey, context, sealed)
    if (value === null) throw new CofferError('invalid', 'Wrong backup passphrase, or the backup is damaged')
    return value
  }
  const [inside] = open('backup-version')
  if (inside !== version) throw damaged()
  const lockedDomainKey = open('domain-key')
  const deviceId = version === 0 ? new Uint8Array() : open('backup-device-id')
  const settingsKey = version === 0 ? new Uint8Array() : open('backup-config-store-key')
  const keyBytes = version === 0 ? 0 : SEAL_KEY_BYTES
  if (lockedDomainKey.length !== LOCKED_KEY_BYTES || settingsKey.length !== keyBytes) throw damaged()
  if (deviceId.length > DEVICE_ID_BYTES_MAX) throw damaged()
  const origin: Origin = { version, lockedDomainKey, deviceId: text(deviceId), settingsKey }
  return { origin, entries: () => entries(source, origin, backupKey) }
}

interface OpenNethsmBackup {
  /** The caller wipes the key of the settings. */
  readonly origin: Origin
  /** To be read once; ends when the backup was found whole, throws `invalid` where it is not. Values are to be wiped. */
  entries(): Generator<BackupEntry, void>
}

function* entries(source: Source, origin: Origin, backupKey: Uint8Array): Generator<BackupEntry, void> {
  const ours = origin.version === 1 && isOurs(origin, backupKey)
  const last = completenessPath(origin.deviceId)
  const tally = new Tally()
  for (;;) {
    const length = readLength(source)
    if (length === 0 && origin.version === 1) break
    if (length === null && origin.version === 0) return
    const entry = openEntry(length, source, backupKey)
    if (ours && entry.path === last) {
      const expected = openGcm(origin.settingsKey, last, entry.value)
      if (expected === null || !equalBytes(expected, tally.digest())) throw damaged()
      if (readLength(source) !== 0) throw damaged()
      return endOf(source)
    }
    tally.add(entry)
    yield entry
  }
  if (ours) throw damaged()
  endOf(source)
}

function endOf(source: Source): void {
  const end = source.read(END.length - LENGTH_BYTES + 1)
  if (!equalBytes(end, END.subarray(LENGTH_BYTES))) throw damaged()
}

function openEntry(length: number | null, source: Source, backupKey: Uint8Array): BackupEntry {
  const sealed = length === null ? null : take(length, source)
  const plain = sealed === null ? null : openGcm(backupKey, 'backup', sealed)
  if (plain === null || plain.length < LENGTH_BYTES) throw damaged()
  const valueAt = LENGTH_BYTES + numberIn(plain)
  if (valueAt > plain.length) throw damaged()
  const path = text(plain.subarray(LENGTH_BYTES, valueAt))
  return { path: path.startsWith('/') ? path : `/${path}`, value: plain.subarray(valueAt) }
}

/** Null where the source ends or has something else. */
function readField(source: Source): Uint8Array | null {
  const length = readLength(source)
  return length === null ? null : take(length, source)
}

/** Null at the end of the source. */
function readLength(source: Source): number | null {
  const bytes = source.read(LENGTH_BYTES)
  if (bytes.length === 0) return null
  if (bytes.length < LENGTH_BYTES) throw damaged()
  return numberIn(bytes)
}

function take(length: number, source: Source): Uint8Array | null {
  if (length > ENTRY_BYTES_MAX) return null
  const bytes = source.read(length)
  return bytes.length === length ? bytes : null
}

const numberIn = (bytes: Uint8Array): number => ((bytes[0] ?? 0) << 16) | ((bytes[1] ?? 0) << 8) | (bytes[2] ?? 0)

/** The value after its length. */
function field(value: Uint8Array): Uint8Array {
  const { length } = value
  return concatBytes(Uint8Array.of(length >> 16, length >> 8, length), value)
}

const text = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw damaged()
  }
}

export const damaged = (): CofferError => new CofferError('invalid', 'The backup is damaged or incomplete')
