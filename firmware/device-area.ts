/** What the device itself can open, in every state: key slots, TLS identity, time offset. Sealed by the device key. */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { Random } from './crypto/random.ts'
import type { TlsIdentity } from './crypto/tls-identity.ts'
import { createSealedTable, type SealedTable } from './store/sealed-table.ts'
import type { StoreFile } from './store/store-file.ts'

export const ATTENDED = 'domain key 0'
export const UNATTENDED = 'domain key 1'
const TLS_IDENTITY = 'tls identity'
const TIME_OFFSET = 'time offset'
const LENGTH_BYTES = 4

/** Writing methods are called within a transaction of the store. */
export interface DeviceArea extends SealedTable {
  readTimeOffsetMs(): number | null
  putTimeOffsetMs(offsetMs: number): void
  readTlsIdentity(): TlsIdentity | null
  putTlsIdentity(identity: TlsIdentity): void
}

export function openDeviceArea(
  store: StoreFile,
  deviceKey: Uint8Array,
  random: Random,
  onDamage: (message: string) => void,
): DeviceArea {
  const table = createSealedTable(store.database, 'device', deviceKey, random, onDamage)
  return {
    ...table,
    readTimeOffsetMs() {
      const bytes = table.get(TIME_OFFSET)
      return bytes === null ? null : new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0)
    },
    putTimeOffsetMs(offsetMs) {
      const bytes = new DataView(new ArrayBuffer(8))
      bytes.setFloat64(0, offsetMs)
      table.put(TIME_OFFSET, new Uint8Array(bytes.buffer))
    },
    readTlsIdentity() {
      const bytes = table.get(TLS_IDENTITY)
      return bytes === null ? null : decodeIdentity(bytes)
    },
    putTlsIdentity(identity) {
      table.put(TLS_IDENTITY, encodeIdentity(identity))
    },
  }
}

/** Two PEM texts; the key's length tells them apart. */
function encodeIdentity({ key, cert }: TlsIdentity): Uint8Array {
  const length = new DataView(new ArrayBuffer(LENGTH_BYTES))
  const keyBytes = utf8ToBytes(key)
  length.setUint32(0, keyBytes.length)
  return concatBytes(new Uint8Array(length.buffer), keyBytes, utf8ToBytes(cert))
}

function decodeIdentity(bytes: Uint8Array): TlsIdentity {
  const certOffset = LENGTH_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
  const decoder = new TextDecoder()
  return {
    key: decoder.decode(bytes.subarray(LENGTH_BYTES, certOffset)),
    cert: decoder.decode(bytes.subarray(certOffset)),
  }
}
