/** A data directory of the real thing with thousands of keys, made without thousands of requests. */

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { PublicKey } from '../../firmware/crypto/types.ts'
import { keyName } from '../../firmware/kms/domain/identifiers.ts'
import { encodeKey, type KeyMetadata } from '../../firmware/kms/domain/key-record.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import type { Caller, Role } from '../../firmware/kms/domain/roles.ts'
import type { Change, RecordStore } from '../../firmware/store/store.ts'
import { commit } from '../store/rig.ts'
import { openPool } from '../support/pool.ts'

export const UNLOCK = 'unlock of the furnished'
export const BACKUP = 'backup of the furnished'
export const credentialsOf = (id: string): string => `${id}:passphrase of ${id}`
const NAMESPACE = 'team'
const BATCH = 500

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/**
 * Every tenth key has a certificate, of a few hundred bytes or of `certificateBytes`. Returns the device key. Users `admin`, `signer`, `saver` (Backup) and `team~chief`; every
 * third key lies in the namespace `team`.
 */
export async function fillStore(
  dataDirectory: string,
  keyCount: number,
  certificateBytes?: number,
): Promise<Uint8Array> {
  const deviceKey = new Uint8Array(randomBytes(32))
  const storeDirectory = join(dataDirectory, 'store')
  mkdirSync(storeDirectory, { recursive: true, mode: 0o700 })
  writeFileSync(join(dataDirectory, 'device.key'), deviceKey, { mode: 0o600 })
  const pool = await openPool()
  let records: RecordStore | undefined
  const appliance = await openAppliance({
    dataDirectory: storeDirectory,
    deviceKey,
    pool,
    log: createLog('error', ({ message }) => console.error(message)),
    openDomain: (opened, services) => {
      records = opened
      return openDomain(opened, services)
    },
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
  })
  try {
    await appliance.provision({
      unlockPassphrase: utf8(UNLOCK),
      adminPassphrase: utf8('passphrase of admin'),
      systemTimeMs: Date.now(),
    })
    const { users, namespaces } = appliance.open()
    const admin: Caller = { userId: 'admin', namespace: '', role: 'Administrator' }
    const add = (id: string, role: Role) =>
      users.create(admin, id, { realName: `name of ${id}`, role, passphrase: utf8(`passphrase of ${id}`) })
    await add('signer', 'Operator')
    await add('saver', 'Backup')
    await add(`${NAMESPACE}~chief`, 'Administrator')
    await users.addTag(admin, 'signer', 'berlin')
    await namespaces.create(admin, NAMESPACE)
    await appliance.backups.setPassphrase(utf8(BACKUP), null)
    for (let n = 0; n < keyCount; n += BATCH)
      await commit(
        records!,
        Array.from({ length: Math.min(BATCH, keyCount - n) }, (_, i) => changesOf(n + i, certificateBytes)).flat(),
      )
  } finally {
    await pool.close()
    appliance.close()
  }
  return deviceKey
}

/** Keys of the kinds that can be made in no time; some as large as RSA keys, some with certificates. */
function changesOf(n: number, certificateBytes = 200 + (n % 2000)): Change[] {
  const namespace = n % 3 === 1 ? NAMESPACE : ''
  const name = keyName(namespace, `key-${n}`)
  const generic = n % 4 === 3
  const certificate = n % 10 === 0 ? ('application/octet-stream' as const) : null
  const metadata: KeyMetadata = {
    namespace,
    id: `key-${n}`,
    type: generic ? 'Generic' : 'Curve25519',
    typeName: generic ? 'Generic' : 'Curve25519',
    mechanisms: generic ? ['AES_Encryption_CBC'] : ['EdDSA_Signature'],
    tags: n % 5 === 0 ? ['berlin'] : [],
    label: n % 7 === 0 ? `label ${n}` : '',
    operations: n % 1000,
    certificate,
  }
  const { secret, data } = generic ? { secret: new Uint8Array(randomBytes(1024)), data: null } : ed25519()
  return [
    { collection: 'keys', name, value: encodeKey(metadata, data) },
    { collection: 'privateKeys', name, value: secret },
    ...(certificate === null
      ? []
      : [{ collection: 'certificates' as const, name, value: new Uint8Array(randomBytes(certificateBytes)) }]),
  ]
}

function ed25519(): { secret: Uint8Array; data: PublicKey } {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const bytes = (text: string | undefined) => new Uint8Array(Buffer.from(text!, 'base64url'))
  return { secret: bytes(d), data: { data: bytes(x) } }
}
