/** Stores of many keys, made without a request for each. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { KeyPair } from '../../firmware/crypto/types.ts'
import { keyName } from '../../firmware/kms/domain/identifiers.ts'
import { encodeKey } from '../../firmware/kms/domain/key-record.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import type { Change, RecordStore } from '../../firmware/store/store.ts'

const BATCH = 2_000 // keys in one transaction

/** Every so many-th key is RSA-2048, the others are P-256. */
export const RSA_SHARE = 4

export const keyId = (index: number) => `benchmark-key-${index}`

/**
 * Puts keys through the sealed records into the store of a data directory, which has a `device.key` and is used by nobody meanwhile.
 * One that is empty is provisioned, another one is unlocked.
 */
export async function fillKeys(
  data: string,
  keys: number,
  passphrases: { unlock: string; admin: string },
): Promise<void> {
  const pool = createPool({ entry: new URL('../../firmware/crypto/pool/worker.ts', import.meta.url) })
  let records: RecordStore | undefined
  const appliance = await openAppliance({
    dataDirectory: join(data, 'store'),
    deviceKey: readFileSync(join(data, 'device.key')),
    pool,
    log: createLog('warning', ({ message }) => console.error(message)),
    openDomain: (opened, services) => {
      records = opened
      return openDomain(opened, services)
    },
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
  })
  const text = (value: string) => new TextEncoder().encode(value)
  const unlockPassphrase = text(passphrases.unlock)
  if (appliance.state === 'Unprovisioned')
    await appliance.provision({ unlockPassphrase, adminPassphrase: text(passphrases.admin), systemTimeMs: Date.now() })
  else if (appliance.state === 'Locked') await appliance.unlock(unlockPassphrase)
  // A few keys of each kind, stored under many names: making each would take hours and change nothing here.
  const curvePairs = await Promise.all(Array.from({ length: 8 }, () => pool.generate('EC_P256')))
  const rsaPairs = await Promise.all(Array.from({ length: 2 }, () => pool.generate('RSA', 2048)))
  for (let start = 0; start < keys; start += BATCH) {
    const changes: Change[] = []
    for (let i = start; i < Math.min(start + BATCH, keys); i++) {
      const pairs = i % RSA_SHARE === RSA_SHARE - 1 ? rsaPairs : curvePairs
      changes.push(...recordsOf(keyId(i), pairs[i % pairs.length]!))
    }
    await records!.change(() => ({ changes, result: undefined }))
  }
  await appliance.close()
  await pool.close()
}

function recordsOf(id: string, pair: KeyPair): Change[] {
  const metadata = {
    namespace: '',
    id,
    type: pair.type,
    typeName: pair.type,
    mechanisms: [pair.type === 'RSA' ? 'RSA_Signature_PSS_SHA256' : 'ECDSA_Signature'],
    tags: [],
    label: '',
    operations: 0,
    certificate: null,
  } as const satisfies Parameters<typeof encodeKey>[0]
  const name = keyName('', id)
  return [
    { collection: 'keys', name, value: encodeKey(metadata, pair.public) },
    { collection: 'privateKeys', name, value: pair.private },
  ]
}
