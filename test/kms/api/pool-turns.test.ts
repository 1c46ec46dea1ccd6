/** Operations of both APIs reach the pool as those of the user who asks, so that users have turns there. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { requestingUser } from '../../../firmware/base/request-authorization.ts'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { logIn, OPERATOR, say, switchWire, wiredRig } from '../transit/rig.ts'

describe('turns', () => {
  let rig: Rig
  before(async () => {
    rig = await wiredRig()
    await switchWire(rig, 'on')
  })
  after(() => rig.close())

  /** Users of the operations that `act` causes. */
  async function usersOf(act: () => Promise<unknown>): Promise<string[]> {
    const users: string[] = []
    const { pool } = rig
    const real: CryptoPool = { ...pool }
    for (const name of ['sign', 'encrypt', 'decrypt', 'verify', 'generate', 'importRaw'] as const)
      Object.assign(pool, {
        [name]: (...given: never[]) => {
          users.push(requestingUser())
          return (real[name] as (...of: never[]) => unknown)(...given)
        },
      })
    try {
      await act()
      return users
    } finally {
      Object.assign(pool, real)
    }
  }

  test('each operation is that of its user, in batches, over an import and in a namespace', async () => {
    const [admin, web] = [await logIn(rig, 'admin'), await logIn(rig, 'web')]
    const generate = (id: string, type: string, mechanism: string, as = 'admin') =>
      expect(201, rig.call('POST', '/keys/generate', { as, json: { id, type, mechanisms: [mechanism] } }))
    assert.deepEqual(await usersOf(() => generate('ed', 'Curve25519', 'EdDSA_Signature')), ['admin'])
    const body = { type: 'aes256-gcm96' }
    assert.deepEqual(await usersOf(() => say(rig, 'POST', 'transit/keys/app', { token: admin, body })), ['admin'])

    const input = Buffer.from('x').toString('base64')
    const sign = { as: 'web', json: { mode: 'EdDSA', message: input } }
    assert.deepEqual(await usersOf(() => expect(200, rig.call('POST', '/keys/ed/sign', sign))), ['web'])
    const batch_input = Array.from({ length: 70 }, () => ({ input, plaintext: input }))
    for (const path of ['transit/sign/ed', 'transit/encrypt/app', 'transit/hmac/app']) {
      const users = await usersOf(() => say(rig, 'POST', path, { token: web, body: { batch_input } }))
      assert.deepEqual(users, Array(70).fill('web'), path)
    }

    rig.use('team1~boss', OPERATOR)
    const boss = { realName: 'Boss', role: 'Administrator', passphrase: OPERATOR }
    await expect(201, rig.call('PUT', '/users/team1~boss', { as: 'admin', json: boss }))
    await expect(204, rig.call('PUT', '/namespaces/team1', { as: 'admin' }))
    const users = await usersOf(() => generate('inside', 'EC_P256', 'ECDSA_Signature', 'team1~boss'))
    assert.deepEqual(users, ['team1~boss'])
  })
})
