/** Backups in the form of a NetHSM with any content, for tests. */

import { EntryWriter, encodeOrigin, encodePreamble } from '../../firmware/backup/nethsm/container.ts'
import { storeKeysOf } from '../../firmware/backup/nethsm/paths.ts'
import { sealGcm } from '../../firmware/crypto/gcm.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { ScryptCost } from '../../firmware/crypto/types.ts'
import { UNLOCK } from '../support/in-process.ts'
import { BACKUP } from './rig.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const CHEAP = { N: 16, r: 1, p: 1 } // as the rig's

/**
 * A backup that no appliance made. `entries` are stored as they are; those of `domain` are sealed by their stores, and
 * `settings`, by name, by the key of the settings.
 */
export function forge(
  entries: [path: string, value: Uint8Array][],
  domain: Record<string, Uint8Array> = {},
  settings: Record<string, string> = {},
  cost: ScryptCost = CHEAP,
): Uint8Array<ArrayBuffer> {
  const [salt, unlockSalt, settingsKey, domainKey] = [16, 16, 32, 32].map(systemRandom) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  const backupKey = deriveKey(utf8(BACKUP), salt, cost)
  const writer = new EntryWriter(backupKey, systemRandom)
  const deviceId = '0123456789'
  const locked = sealGcm(deriveKey(utf8(UNLOCK), unlockSalt, cost), 'passphrase', domainKey, systemRandom)
  const keys: Partial<Record<string, Uint8Array>> = storeKeysOf(domainKey)
  const sealed = Object.entries(domain).map(
    ([path, value]) => [path, sealGcm(keys[path.split('/')[1]!]!, path, value, systemRandom)] as const,
  )
  const local = (name: string) => `/local/${deviceId}/config/${name}`
  const setting = (name: string, value: Uint8Array) => ({
    path: local(name),
    value: sealGcm(settingsKey, local(name), value, systemRandom),
  })
  const parts = [
    encodePreamble(salt),
    encodeOrigin({ lockedDomainKey: locked, deviceId, settingsKey }, backupKey, systemRandom),
    writer.encode(setting('unlock-salt', unlockSalt)),
    ...Object.entries(settings).map(([name, value]) => writer.encode(setting(name, utf8(value)))),
    ...[...entries, ...sealed].map(([path, value]) => writer.encode({ path, value })),
    utf8('\0\0\0_NETHSM_BACKUP_END_'),
  ]
  return new Uint8Array(Buffer.concat(parts))
}

export const ADMINISTRATOR = utf8(
  `{"name":"admin","salt":"0123456789abcdef","digest":"0123456789abcdef0123456789abcdef","role":"Administrator","tags":[]}`,
)
