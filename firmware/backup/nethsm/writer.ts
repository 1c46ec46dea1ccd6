/**
 * Writes a backup in the form of a NetHSM from a snapshot of the store, as fast as it is read. Every record is opened
 * and sealed anew, so it ends with the lock that takes the domain key away. Contract sections 8.1 and 8.2.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError, wrongState } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Network } from '../../channel/protocol.ts'
import type { Logging } from '../../configuration/configuration.ts'
import type { Vocabulary } from '../../configuration/vocabulary.ts'
import { sealGcm } from '../../crypto/gcm.ts'
import type { Random } from '../../crypto/random.ts'
import { keyName } from '../../kms/domain/identifiers.ts'
import { decodeBucket } from '../../kms/domain/key-counts.ts'
import { decodeKey, decodePublic, OPERATIONS_MAX } from '../../kms/domain/key-record.ts'
import { decodeNamespace } from '../../kms/domain/namespaces.ts'
import { decodeUser } from '../../kms/domain/user-record.ts'
import { lowestOf } from '../../kms/domain/version-record.ts'
import { CLUSTER_CA, type DeviceArea, LOGGING, NETWORK, UNATTENDED, VOCABULARY } from '../../store/device-area.ts'
import type { LockedDomainKey } from '../../store/key-slots.ts'
import { createRowReader } from '../../store/sealed-row.ts'
import { type Snapshot, takeSnapshot } from '../../store/snapshot.ts'
import type { StoredRecord, StoreFile } from '../../store/store.ts'
import type { BackupKey } from '../backup-key.ts'
import { releasing } from '../writer.ts'
import { type BackupEntry, EntryWriter, encodeOrigin, encodePreamble, newSettingsKey } from './container.ts'
import { keyPath, namespacePath, type StoreKeys, storeKeysOf, userPath } from './paths.ts'
import { encodeKeyEntry, encodeNamespace, encodeUser } from './records.ts'
import { encodeCertificates, encodeSettings } from './settings.ts'

const TABLES = ['users', 'namespaces', 'counts', 'keys', 'privateKeys', 'certificates'] as const
const SLICE_MS = 10 // of work, between which requests are served

interface NethsmBackupOptions {
  store: StoreFile
  device: DeviceArea
  deviceId: string
  domainKey: Uint8Array
  lockedDomainKey: LockedDomainKey
  /** Wiped at the end. */
  backupKey: BackupKey
  random: Random
}

export interface Backup extends AsyncIterable<Uint8Array> {
  /** Wipes the keys; who reads it gets `unavailable`. */
  abort(): void
}

/** The store as it is now, whatever happens to it while the backup is read. Throws `busy` while there is another. */
export function writeBackup(options: NethsmBackupOptions): Backup {
  const { store, backupKey, domainKey, random } = options
  const settingsKey = newSettingsKey(backupKey.key, random)
  const storeKeys = storeKeysOf(domainKey)
  const readers = Object.fromEntries(TABLES.map((name) => [name, createRowReader(name, domainKey)])) as Readers
  let snapshot: Snapshot | undefined
  let settings: BackupEntry[] = []
  let open = true
  const release = (): void => {
    if (!open) return
    open = false
    snapshot?.close()
    for (const reader of Object.values(readers)) reader.close()
    wipe(backupKey.key, settingsKey, ...Object.values(storeKeys))
  }
  const seal = (key: Uint8Array, path: string, plain: Uint8Array): BackupEntry => {
    if (!open) throw wrongState()
    try {
      return { path, value: sealGcm(key, path, plain, random) }
    } finally {
      wipe(plain)
    }
  }
  try {
    settings = settingsEntries(options, settingsKey, storeKeys.config, seal)
    snapshot = takeSnapshot(store, TABLES)
  } catch (error) {
    release()
    throw error
  }
  const chunks = write(options, settingsKey, chain(settings, domainEntries(snapshot, readers, storeKeys, seal)))
  return Object.assign(releasing(chunks, release), { abort: release })
}

type Readers = Record<(typeof TABLES)[number], ReturnType<typeof createRowReader>>
/** Wipes what it seals. Throws `unavailable` after the end. */
type Seal = (key: Uint8Array, path: string, plain: Uint8Array) => BackupEntry

function* chain<T>(...parts: Iterable<T>[]): Generator<T> {
  for (const part of parts) yield* part
}

async function* write(
  { backupKey, deviceId, lockedDomainKey, random }: NethsmBackupOptions,
  settingsKey: Uint8Array,
  entries: Iterable<BackupEntry>,
): AsyncGenerator<Uint8Array, void> {
  const writer = new EntryWriter(backupKey.key, random)
  const origin = { lockedDomainKey: lockedDomainKey.locked, deviceId, settingsKey }
  yield concatBytes(encodePreamble(backupKey.salt), encodeOrigin(origin, backupKey.key, random))
  let pieces: Uint8Array[] = []
  let until = performance.now() + SLICE_MS
  for (const entry of entries) {
    pieces.push(writer.encode(entry))
    if (performance.now() < until) continue
    yield concatBytes(...pieces)
    pieces = []
    await nextTurn() // a fast reader must not keep others waiting
    until = performance.now() + SLICE_MS
  }
  yield concatBytes(...pieces, writer.end(origin))
}

/** Entries in clear, and those that a NetHSM seals with its device key or needs in order to know the backup key. */
function settingsEntries(
  { device, deviceId, domainKey, lockedDomainKey, backupKey }: NethsmBackupOptions,
  settingsKey: Uint8Array,
  configKey: Uint8Array,
  seal: Seal,
): BackupEntry[] {
  const local = (name: string, value: Uint8Array): BackupEntry =>
    seal(settingsKey, `/local/${deviceId}/config/${name}`, value)
  const slot = (name: string, value: Uint8Array): BackupEntry => ({
    path: `/local/${deviceId}/domain-key/${name}`,
    value,
  })
  const stored = <T>(name: string): T | null => {
    const bytes = device.get(name)
    return bytes === null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as T)
  }
  const clusterCa = device.get(CLUSTER_CA)
  const tls = device.readTlsIdentity()
  const settings = encodeSettings({
    tls,
    network: stored<Network>(NETWORK),
    logging: stored<Logging>(LOGGING),
    timeOffsetMs: device.readTimeOffsetMs(),
    vocabulary: stored<{ members: Vocabulary }>(VOCABULARY)?.members ?? null,
  })
  if (tls !== null) wipe(tls.key)
  const unattended = device.has(UNATTENDED)
  return [
    { path: '/.initialized', value: new Uint8Array() },
    { path: '/config/version', value: utf8ToBytes('1') },
    seal(configKey, '/config/backup-salt', backupKey.salt.slice()),
    seal(configKey, '/config/backup-key', backupKey.key.slice()),
    ...(clusterCa === null
      ? []
      : [seal(configKey, '/config/cluster-ca', encodeCertificates(new TextDecoder().decode(clusterCa)))]),
    local('unlock-salt', lockedDomainKey.salt.slice()),
    ...settings.map(([name, value]) => local(name, value)),
    local('unattended-boot', utf8ToBytes(unattended ? '1' : '0')),
    // A NetHSM wants one, and makes its own of the domain key above.
    slot('attended', device.sealForItself(lockedDomainKey.locked)),
    ...(unattended ? [slot('unattended', device.sealForItself(domainKey))] : []),
  ]
}

function* domainEntries(
  snapshot: Snapshot,
  readers: Readers,
  storeKeys: StoreKeys,
  seal: Seal,
): Generator<BackupEntry, void> {
  const rows = function* (table: (typeof TABLES)[number]): Generator<StoredRecord> {
    for (const page of snapshot.pages(table)) for (const row of page) yield opened(readers[table].open(row))
  }
  const find = (table: 'privateKeys' | 'certificates', name: string): Uint8Array => {
    const row = snapshot.row(table, readers[table].slotOf(name))
    return opened(row === null ? null : readers[table].open(row)).value
  }
  for (const store of ['authentication', 'key', 'namespace'] as const)
    yield seal(storeKeys[store], `/${store}/.version`, utf8ToBytes('0'))
  for (const { value } of rows('users')) {
    const user = decodeUser(value)
    yield seal(storeKeys.authentication, userPath(user.id), encodeUser(user))
  }
  const doomed = new Set<string>()
  for (const { value } of rows('namespaces')) {
    const { id, state } = decodeNamespace(value)
    if (state === 'doomed') doomed.add(id)
    else yield seal(storeKeys.namespace, namespacePath(id), encodeNamespace(id))
  }
  const stored = new Map<bigint, number>()
  for (const { value } of rows('counts'))
    for (const [slot, count] of decodeBucket(value).counts) stored.set(slot, (stored.get(slot) ?? 0) + count)
  for (const { value, slot } of rows('keys')) {
    const key = decodeKey(value)
    const { type, namespace, id } = key
    if (doomed.has(namespace)) continue
    if (key.versions !== undefined && lowestOf(key.versions) > 1) continue // a NetHSM has version 1 of a key
    const metadata = { ...key, operations: Math.min(key.operations + (stored.get(slot) ?? 0), OPERATIONS_MAX) }
    const name = keyName(namespace, id)
    const pair = { type, public: decodePublic(value), private: find('privateKeys', name) }
    const certificate = metadata.certificate === null ? null : find('certificates', name)
    try {
      yield seal(storeKeys.key, keyPath(namespace, id), encodeKeyEntry({ metadata, pair, certificate }))
    } finally {
      wipe(pair.private)
    }
  }
}

/** A backup that lacks what is damaged would pass for a whole one. */
function opened(record: StoredRecord | null): StoredRecord {
  if (record === null)
    throw new CofferError('storage', 'A stored record is damaged: only a backup with ?format=coffer can include it')
  return record
}
