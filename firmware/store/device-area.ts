/** Records that the device opens by itself in every state: key slots, TLS, network, time, logging, console, outgoing connections. Sealed by the device key. */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../crypto/seal.ts'
import type { TlsIdentity } from '../crypto/tls/identity.ts'
import { createSealedTable, type SealedTable } from './sealed-table.ts'
import type { StoreFile } from './store.ts'

export const ATTENDED = 'domain key 0'
export const UNATTENDED = 'domain key 1'
/** Stored beside slot 0 for backups in the form of a NetHSM, see key-slots.ts. */
export const BESIDE_ATTENDED = 'domain key 0 locked'
export const TLS_IDENTITY = 'tls identity'
/** The identity of this node as a member of a cluster, if it differs from that of the port. */
export const CLUSTER_TLS_IDENTITY = 'cluster tls identity'
/** JSON, see firmware/chat/host/host.ts; and the identity of the chat's port. */
export const CHAT = 'chat'
export const CHAT_TLS_IDENTITY = 'chat tls identity'
/** JSON: hosts that the chat may reach, see firmware/chat/host/outgoing.ts. */
export const CHAT_HOSTS = 'chat outgoing hosts'
/** JSON: push services that the chat may reach, see firmware/chat/host/outgoing.ts. */
export const CHAT_WEB_PUSH = 'chat web push'
/** Text: the port that an Administrator chose for the chat, see firmware/chat/host/port.ts. */
export const CHAT_PORT = 'chat port'
/** JSON, see firmware/chat/host/commit-counter-store.ts. */
export const CHAT_COMMITS = 'chat commits'
/** PEM of one certificate. */
export const CLUSTER_CA = 'cluster ca'
/** JSON, like the six after it. */
export const NETWORK = 'network'
export const NTP = 'ntp'
export const LOGGING = 'logging'
export const VOCABULARY = 'vocabulary'
export const CONSOLE = 'console'
export const OUTGOING = 'outgoing'
export const MAIL = 'mail'
export const INTERFACES = 'interfaces'
/** JSON, and the client's identity for the log server over TLS, which is there once a key was generated. */
export const SYSLOG = 'syslog'
export const SYSLOG_TLS_IDENTITY = 'syslog tls identity'
/** Settings and account of ACME, sealed once more by a key of the domain: acme/records.ts. */
export const ACME = 'acme'
export const ACME_ACCOUNT = 'acme account'
/** JSON: results of attempts, see acme/progress.ts; in no backup. */
export const ACME_PROGRESS = 'acme progress'
/** JSON: which alerts were mailed, see alerts/progress.ts; in no backup. */
export const ALERTS = 'alerts'
const TIME_OFFSET = 'time offset'
/** When a backup was made last: milliseconds since 1970, as text. */
export const LAST_BACKUP = 'last backup'
/** JSON, see backup/restore-report.ts; in no backup. */
export const RESTORE_REPORT = 'restore report'
/** JSON, see device/last-start.ts. */
export const LAST_START = 'last start'

/** The configuration among the records. */
export const DEVICE_RECORDS = [
  TLS_IDENTITY,
  CHAT_TLS_IDENTITY,
  CLUSTER_TLS_IDENTITY,
  CLUSTER_CA,
  NETWORK,
  NTP,
  LOGGING,
  VOCABULARY,
  CONSOLE,
  OUTGOING,
  MAIL,
  CHAT_HOSTS,
  CHAT_WEB_PUSH,
  CHAT_PORT,
  INTERFACES,
  SYSLOG,
  SYSLOG_TLS_IDENTITY,
  ACME,
  ACME_ACCOUNT,
  TIME_OFFSET,
] as const

/** JSON, see cluster/membership/record.ts: where it is missing, the node is alone. */
export const CLUSTER = 'cluster'
/** JSON, see cluster/replica/position.ts. */
export const CLUSTER_POSITION = 'cluster position'

const LENGTH_BYTES = 4

/** Writing methods are called within a transaction of the store. */
export interface DeviceArea extends SealedTable {
  /** Sealed for this device to open when it comes back from outside. */
  sealForItself(value: Uint8Array): Uint8Array
  /** Null when another device has sealed it. */
  openOwn(sealed: Uint8Array): Uint8Array | null
  readTimeOffsetMs(): number | null
  putTimeOffsetMs(offsetMs: number): void
  /** By default that of the appliance's port. */
  readTlsIdentity(name?: string): TlsIdentity | null
  putTlsIdentity(identity: TlsIdentity, name?: string): void
}

export function openDeviceArea(
  store: StoreFile,
  deviceKey: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): DeviceArea {
  const table = createSealedTable(store, 'device', deviceKey, random, onDamage)
  const ownKey = deriveSealKey(deviceKey, 'coffer device own')
  return {
    ...table,
    sealForItself: (value) => seal(ownKey, value, random),
    openOwn: (sealed) => unseal(ownKey, sealed),
    close() {
      table.close()
      wipe(ownKey)
    },
    readTimeOffsetMs() {
      const bytes = table.get(TIME_OFFSET)
      return bytes === null ? null : new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0)
    },
    putTimeOffsetMs(offsetMs) {
      const bytes = new DataView(new ArrayBuffer(8))
      bytes.setFloat64(0, offsetMs)
      table.put(TIME_OFFSET, new Uint8Array(bytes.buffer))
    },
    readTlsIdentity(name = TLS_IDENTITY) {
      const bytes = table.get(name)
      if (bytes === null) return null
      try {
        return decodeIdentity(bytes)
      } finally {
        wipe(bytes)
      }
    },
    putTlsIdentity(identity, name = TLS_IDENTITY) {
      const bytes = encodeIdentity(identity)
      try {
        table.put(name, bytes)
      } finally {
        wipe(bytes)
      }
    },
  }
}

/** Two PEM texts; the key's length tells them apart. */
function encodeIdentity({ key, cert }: TlsIdentity): Uint8Array {
  const length = new DataView(new ArrayBuffer(LENGTH_BYTES))
  length.setUint32(0, key.length)
  return concatBytes(new Uint8Array(length.buffer), key, utf8ToBytes(cert))
}

function decodeIdentity(bytes: Uint8Array): TlsIdentity {
  const certOffset = LENGTH_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
  return {
    key: bytes.slice(LENGTH_BYTES, certOffset),
    cert: new TextDecoder().decode(bytes.subarray(certOffset)),
  }
}
