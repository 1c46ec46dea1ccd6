/** Settings and records that a backup in the form of a NetHSM cannot hold. Contract section 8.2. */

import { wipe } from '../../base/secret.ts'
import type { Ntp } from '../../channel/protocol.ts'
import { DEFAULT_INTERFACES, type Interfaces } from '../../configuration/configuration.ts'
import type { Records } from '../../kms/domain/collections.ts'
import { decodeUser } from '../../kms/domain/user-record.ts'
import {
  ACME,
  CLUSTER_TLS_IDENTITY,
  CONSOLE,
  type DeviceArea,
  INTERFACES,
  MAIL,
  NTP,
  OUTGOING,
  SYSLOG,
  SYSLOG_TLS_IDENTITY,
} from '../../store/device-area.ts'
import { readBackupKey } from '../backup-key.ts'

/** `chat` is also left out of a backup in our own form when the chat could not copy its files. */
export const OMITTABLE = [
  'chat',
  'namespace-quotas',
  'ntp',
  'console',
  'cluster-tls',
  'outgoing',
  'acme',
  'syslog',
  'mail',
  'interfaces',
  'access-keys',
  'key-versions',
] as const
export type Omitted = (typeof OMITTABLE)[number]

/**
 * Data that a restore could not bring back in another way. The others are single settings: published clients, which read
 * the form of a NetHSM alone, make their backups with a time server set as well.
 */
const DATA: ReadonlySet<Omitted> = new Set(['chat', 'namespace-quotas', 'access-keys', 'key-versions'])

/** Reasons why a backup for which no form is asked has our own. */
export const lostData = (omitted: readonly Omitted[]): Omitted[] => omitted.filter((name) => DATA.has(name))

interface Present {
  device: DeviceArea
  records: Records
  hasChat: boolean
  hasKeyVersions: boolean
}

/** In the order of `OMITTABLE`; empty where a backup in the form of a NetHSM is complete. */
export function omittedByNethsm({ device, records, hasChat, hasKeyVersions }: Present): Omitted[] {
  const setting = <T>(name: string): Partial<T> => {
    const bytes = device.get(name)
    return bytes === null ? {} : (JSON.parse(new TextDecoder().decode(bytes)) as T)
  }
  const { ntpIP, ntsName } = setting<Ntp>(NTP)
  const { transit, tokenHours } = { ...DEFAULT_INTERFACES, ...setting<Interfaces>(INTERFACES) }
  const present: Record<Omitted, boolean> = {
    chat: hasChat,
    'namespace-quotas': hasQuotas(records),
    ntp: Boolean(ntpIP ?? ntsName),
    console: setting<{ enabled: boolean }>(CONSOLE).enabled === false,
    'cluster-tls': device.has(CLUSTER_TLS_IDENTITY),
    outgoing: device.has(OUTGOING),
    acme: device.has(ACME),
    syslog: device.has(SYSLOG) || device.has(SYSLOG_TLS_IDENTITY),
    mail: device.has(MAIL),
    interfaces: transit === 'on' || tokenHours !== DEFAULT_INTERFACES.tokenHours,
    'access-keys': hasAccessKeys(records),
    'key-versions': hasKeyVersions,
  }
  return OMITTABLE.filter((name) => present[name])
}

/** The only other record of the collection is the backup key. */
function hasQuotas(records: Records): boolean {
  const key = readBackupKey(records)
  wipe(key?.key)
  let rest = key === null ? 0 : 1
  for (const value of records.list('configuration')) {
    wipe(value)
    if (rest-- === 0) return true
  }
  return false
}

function hasAccessKeys(records: Records): boolean {
  for (const value of records.list('users')) if (decodeUser(value).accessKeys.length > 0) return true
  return false
}
