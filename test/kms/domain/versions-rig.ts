/** Keys with several versions over a real store. */

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import type { NewKey } from '../../../firmware/kms/domain/keys.ts'
import type { Operational } from '../../../firmware/kms/domain/operational.ts'
import { utf8 } from '../../store/rig.ts'
import { admin, createDomainRig, type DomainRig, ED25519, newUser } from './rig.ts'

export const AES: NewKey = { mechanisms: ['XAES_Encryption_GCM', 'XAES_Decryption_GCM', 'HMAC'], tags: [], label: '' }
export const operator = {
  caller: { userId: 'operator', namespace: '', role: 'Operator' },
  address: '192.0.2.1',
} as const
export const MESSAGE = utf8('message')

export async function rigWithOperator(t: TestContext, pool: CryptoPool): Promise<DomainRig> {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  return rig
}

export const sign = ({ keyUse }: Operational, id: string, version?: number) =>
  keyUse.sign(operator, id, 'EdDSA', () => MESSAGE.slice(), null, version)
export const verify = ({ keyUse }: Operational, id: string, signature: Uint8Array, version: number) =>
  keyUse.verify(operator, id, 'EdDSA', MESSAGE, signature, version)
export const versionsOf = ({ keys }: Operational, id: string, namespace = '') => {
  const { versions } = keys.getAnyVersion(namespace, id)
  return versions === null ? null : { ...versions, list: versions.list.map(({ id }) => id) }
}
/** Keys with ids `one` (Ed25519) and `two` (Generic), of three versions each. */
export async function rotatedRig(t: TestContext, pool: CryptoPool): Promise<DomainRig> {
  const rig = await rigWithOperator(t, pool)
  await rig.domain.keys.generate(admin, 'one', ED25519, 'Curve25519')
  await rig.domain.keys.generate(admin, 'two', AES, 'Generic', 256)
  for (const id of ['one', 'two'])
    for (const version of [2, 3]) assert.equal(await rig.domain.keys.rotate(admin, id), version)
  return rig
}
