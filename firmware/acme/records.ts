/**
 * Settings and account in the device area, sealed by a key that is made of the domain key: only an Operational appliance can read them.
 * Another domain key, as after a restore of another appliance's records, leaves them unreadable, and they count as not set.
 */

import { concatBytes } from '@noble/hashes/utils.js'
import { wipe } from '../base/secret.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import type { Random } from '../crypto/random.ts'
import { seal, unseal } from '../crypto/seal.ts'
import { ACME, ACME_ACCOUNT, type DeviceArea } from '../store/device-area.ts'
import { type AcmeSettings, DEFAULT_ACME } from './settings.ts'

export interface Account {
  directory: string
  /** PKCS#8 in DER. A copy: the caller wipes it. */
  key: Uint8Array
  /** Null until the CA has made the account. */
  url: string | null
  contact: readonly string[]
}

interface AcmeRecords {
  /** Throws `unavailable` unless Operational, as all of these do. */
  settings(): AcmeSettings
  /** Forgets the account, which belongs to another directory, unless `keepsAccount`. */
  putSettings(settings: AcmeSettings, keepsAccount: boolean): void
  account(): Account | null
  putAccount(account: Account): void
}

interface AcmeRecordsOptions {
  records: DeviceRecords
  /** Returns a key for one purpose; wiped here. Throws `unavailable` unless Operational. */
  deriveKey: (purpose: string) => Uint8Array
  random: Random
}

const PURPOSE = 'coffer acme'
const LENGTH_BYTES = 4

export function createAcmeRecords({ records, deriveKey, random }: AcmeRecordsOptions): AcmeRecords {
  function read(name: string): Uint8Array | null {
    const key = deriveKey(PURPOSE)
    try {
      const sealed = records.read('read the settings of ACME', (area) => area.get(name))
      return sealed == null ? null : unseal(key, sealed)
    } finally {
      wipe(key)
    }
  }

  function write(
    change: (put: (area: DeviceArea, name: string, value: Uint8Array) => void) => (area: DeviceArea) => void,
  ) {
    const key = deriveKey(PURPOSE)
    try {
      records.write(change((area, name, value) => area.put(name, seal(key, value, random))))
    } finally {
      wipe(key)
    }
  }

  return {
    settings() {
      const bytes = read(ACME)
      if (bytes === null) return DEFAULT_ACME
      try {
        return { ...DEFAULT_ACME, ...(JSON.parse(new TextDecoder().decode(bytes)) as Partial<AcmeSettings>) }
      } finally {
        wipe(bytes)
      }
    },
    putSettings(settings, keepsAccount) {
      const text = JSON.stringify(settings)
      const bytes = new TextEncoder().encode(text)
      write((put) => (area) => {
        if (text === JSON.stringify(DEFAULT_ACME)) area.remove(ACME)
        else put(area, ACME, bytes)
        if (!keepsAccount) area.remove(ACME_ACCOUNT)
      })
      wipe(bytes)
    },
    account() {
      const bytes = read(ACME_ACCOUNT)
      if (bytes === null) return null
      try {
        const keyEnd = LENGTH_BYTES + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
        const known = JSON.parse(new TextDecoder().decode(bytes.subarray(keyEnd))) as Omit<Account, 'key'>
        return { ...known, key: bytes.slice(LENGTH_BYTES, keyEnd) }
      } finally {
        wipe(bytes)
      }
    },
    putAccount({ key, ...known }) {
      const length = new DataView(new ArrayBuffer(LENGTH_BYTES))
      length.setUint32(0, key.length)
      const bytes = concatBytes(new Uint8Array(length.buffer), key, new TextEncoder().encode(JSON.stringify(known)))
      try {
        write((put) => (area) => put(area, ACME_ACCOUNT, bytes))
      } finally {
        wipe(bytes)
      }
    },
  }
}
