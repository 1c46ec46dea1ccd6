/**
 * Restoring a backup in the form of a NetHSM. Settings become ours at once; users, namespaces and keys are sealed by the
 * domain key and wait for the unlock. Contract sections 8.2 and 8.3.
 */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../../base/secret.ts'
import { forEachInSlices } from '../../base/slices.ts'
import { openGcm } from '../../crypto/gcm.ts'
import { equalBytes } from '../../crypto/seal.ts'
import {
  ATTENDED,
  BESIDE_ATTENDED,
  CLUSTER_CA,
  DEVICE_RECORDS,
  type DeviceArea,
  LOGGING,
  NETWORK,
  TLS_IDENTITY,
  UNATTENDED,
  VOCABULARY,
} from '../../store/device-area.ts'
import { type LockedDomainKey, lockedDomainKeyOf, lockedSlot } from '../../store/key-slots.ts'
import type { Rows } from '../../store/store.ts'
import { BACKUP_COLLECTIONS } from '../container.ts'
import type { Source } from '../reader.ts'
import { omissionText, putReport } from '../restore-report.ts'
import { type BackupCredentials, keyFor, type VerifiedBackup } from '../verification.ts'
import { type BackupEntry, damaged, type Origin, openBackup, readPreamble } from './container.ts'
import { readPath } from './paths.ts'
import { putCounts, putWaiting, removeWaiting } from './pending-import.ts'
import { decodeSettings, type NethsmSettings, SETTING_NAMES } from './settings.ts'

const SALT = 'unlock-salt'
const UNATTENDED_SLOT = 'domain-key/unattended'
const BACKUP_SALT = 'backup-salt'
const BACKUP_KEY = 'backup-key'
const SALT_BYTES = 16

/** `open` gives the same bytes each time. Throws `invalid`. */
export async function verifyBackup(open: () => Source, access: BackupCredentials): Promise<VerifiedBackup> {
  const { version, salt } = readPreamble(open())
  const backupKey = await keyFor(salt, access)
  const reopen = () => {
    const source = open()
    readPreamble(source)
    return openBackup(source, version, backupKey)
  }
  const { origin, entries } = reopen()
  try {
    const found = await inspect(entries(), origin)
    const { settings, omissions } = await decodeSettings(found.settings, version)
    const domainKey: LockedDomainKey = { salt: found.salt, locked: origin.lockedDomainKey }
    const fits = (device: DeviceArea): boolean => hasSame(device, domainKey, access)
    return {
      chatPieces: null,
      rows: null,
      fits,
      replace: (rows, device, extent) => {
        const stays = fits(device)
        replaceSettings(device, extent === 'full' ? settings : null)
        putReport(device, extent === 'full' ? omissions : [])
        if (extent === 'full') for (const omission of omissions) access.warn(omissionText(omission))
        removeRecords(rows, stays)
        const again = reopen()
        try {
          replaceWaiting(device, again.entries(), origin)
        } finally {
          wipe(again.origin.settingsKey)
        }
        if (stays) return // the same domain key: unattended starts stay as set
        device.put(ATTENDED, lockedSlot(domainKey, access.cost))
        device.remove(BESIDE_ATTENDED)
        const ownKey = extent === 'full' && found.unattended !== null ? device.openOwn(found.unattended) : null
        if (ownKey === null) device.remove(UNATTENDED)
        else device.put(UNATTENDED, ownKey)
        if (ownKey !== null) wipe(ownKey)
      },
      close: () => {
        wipe(backupKey, origin.settingsKey)
        if (settings.tls !== null) wipe(settings.tls.key)
      },
    }
  } catch (error) {
    wipe(backupKey, origin.settingsKey)
    throw error
  }
}

interface OpenedArchive {
  salt: Uint8Array
  settings: Map<string, Uint8Array>
  unattended: Uint8Array | null
}

/** Reads all of it; what lies in the places of settings is opened. */
export async function inspect(entries: Iterable<BackupEntry>, origin: Origin): Promise<OpenedArchive> {
  const settings = new Map<string, Uint8Array>()
  let unattended: Uint8Array | null = null
  await forEachInSlices(entries, ({ path, value }) => {
    const place = readPath(path, origin.deviceId)
    if (place === undefined) throw damaged()
    if (place === null) return
    if (place.store === 'local' && place.name === UNATTENDED_SLOT) unattended = value.slice()
    const name = settingIn(place, origin)
    if (name !== null) settings.set(name, openSetting(path, value, origin))
  })
  const salt = settings.get(SALT)
  if (salt?.length !== SALT_BYTES) throw damaged()
  return { salt, settings, unattended }
}

const SETTINGS: readonly string[] = [...SETTING_NAMES, SALT]

/** The name of a setting of the device; in version 0 they lie among those of all. */
function settingIn(place: NonNullable<ReturnType<typeof readPath>>, { version }: Origin): string | null {
  const name =
    version === 0 && place.store === 'config'
      ? place.name
      : version === 1 && place.store === 'local' && place.name.startsWith('config/')
        ? place.name.slice('config/'.length)
        : ''
  return SETTINGS.includes(name) ? name : null
}

function openSetting(path: string, value: Uint8Array, { version, settingsKey }: Origin): Uint8Array {
  const plain = version === 0 ? value : openGcm(settingsKey, path, value)
  if (plain === null) throw damaged()
  return plain
}

function hasSame(device: DeviceArea, { salt, locked }: LockedDomainKey, { cost }: BackupCredentials): boolean {
  const slot = device.get(ATTENDED)
  const own = slot === null ? null : lockedDomainKeyOf(slot, device.get(BESIDE_ATTENDED), cost)
  return own !== null && equalBytes(own.salt, salt) && equalBytes(own.locked, locked)
}

/** Null leaves them alone. The authority of the cluster comes with the unlock. */
function replaceSettings(device: DeviceArea, settings: NethsmSettings | null): void {
  device.remove(CLUSTER_CA)
  if (settings === null) return
  const { tls, network, logging, timeOffsetMs, vocabulary } = settings
  for (const name of DEVICE_RECORDS) if (name !== TLS_IDENTITY) device.remove(name) // without one of its own it keeps what it has
  if (tls !== null) device.putTlsIdentity(tls)
  if (network !== null) device.put(NETWORK, utf8ToBytes(JSON.stringify(network)))
  if (logging !== null) device.put(LOGGING, utf8ToBytes(JSON.stringify(logging)))
  if (timeOffsetMs !== null) device.putTimeOffsetMs(timeOffsetMs)
  if (vocabulary !== null) device.put(VOCABULARY, utf8ToBytes(JSON.stringify({ members: vocabulary })))
}

/** With the same domain key, settings that no NetHSM has stay. */
function removeRecords(rows: Rows, stays: boolean): void {
  for (const collection of BACKUP_COLLECTIONS) if (!stays || collection !== 'configuration') rows.clear(collection)
}

/** The salt and the key of backups become one entry: neither is worth anything alone. */
function replaceWaiting(device: DeviceArea, entries: Iterable<BackupEntry>, { version, deviceId }: Origin): void {
  removeWaiting(device)
  let all = 0
  const backup = new Map<string, Uint8Array>()
  for (const { path, value } of entries) {
    const place = readPath(path, deviceId)
    if (!place || place.store === 'local') continue
    if (place.store !== 'config' || (version === 1 && place.name === 'cluster-ca'))
      putWaiting(device, all++, { path, value })
    else if (place.name === BACKUP_SALT || place.name === BACKUP_KEY) backup.set(place.name, value.slice())
  }
  const [salt, key] = [backup.get(BACKUP_SALT), backup.get(BACKUP_KEY)]
  if (salt !== undefined && key !== undefined)
    putWaiting(device, all++, {
      path: BACKUP_PLACES[version],
      value: concatBytes(Uint8Array.of(salt.length), salt, key),
    })
  wipe(...backup.values())
  putCounts(device, { all, done: 0 })
}

/** Where it waits; those of version 0 are not sealed by the domain key. */
export const BACKUP_PLACES = ['/backup', '/backup/sealed'] as const
export const backupEntryPaths = { salt: `/config/${BACKUP_SALT}`, key: `/config/${BACKUP_KEY}` }
