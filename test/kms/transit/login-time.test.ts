/** A login with an unknown name costs as much as one with a wrong passphrase, and is told from it by nothing. Contract section 7.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import { say, switchWire, wiredRig } from './rig.ts'

const WRONG = 'a wrong passphrase'

test('an unknown user and a wrong passphrase take the same work and get the same answer, at each way in', async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const work: unknown[] = []
  const { scrypt } = rig.pool
  t.mock.method(rig.pool, 'scrypt', (...parameters: Parameters<CryptoPool['scrypt']>) => {
    const [passphrase, salt, cost] = parameters
    work.push([passphrase.length, salt.length, cost])
    return scrypt(...parameters)
  })
  const ways = {
    userpass: (name: string) => say(rig, 'POST', `auth/userpass/login/${name}`, { body: { password: WRONG } }),
    approle: (name: string) => say(rig, 'POST', 'auth/approle/login', { body: { role_id: name, secret_id: WRONG } }),
    basic: async (name: string) => {
      const { status, text } = await rig.call('GET', '/account', { as: `${name}:${WRONG}` })
      return { status, body: text() }
    },
  }
  for (const [way, logIn] of Object.entries(ways)) {
    const told: unknown[] = []
    for (const name of ['web', 'unknown', 'team9~web', 'admin']) {
      rig.nowMs += 2000
      work.length = 0
      const lines = rig.entries.length
      const answer = await logIn(name)
      const logged = rig.entries
        .slice(lines)
        .map(({ level, message }) => [level, message.replace(/^\[\d+\] /, '').replace(name, 'NAME')])
      assert.equal(work.length, 1, `${way} ${name}`)
      told.push([answer, work[0], logged])
    }
    for (const other of told) assert.deepEqual(other, told[0], way)
  }
})
