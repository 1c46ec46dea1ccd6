/** Passwords of accounts: whose derivation is next. Contract section 1.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPasswords } from '../../../../../firmware/chat/realm/organization/users/passwords.ts'

test('an address with a right password before goes ahead of strangers who wait for a derivation', async () => {
  const derived: { password: string; end: () => void }[] = []
  const passwords = createPasswords({
    random: (length) => new Uint8Array(length),
    derive: (password) => {
      const { promise, resolve } = Promise.withResolvers<Uint8Array>()
      const text = Buffer.from(password).toString()
      derived.push({ password: text, end: () => resolve(new Uint8Array(32).fill(text === 'right' ? 1 : 0)) })
      return promise
    },
    nowMs: () => 0,
  })
  const end = async () => {
    derived.at(-1)!.end()
    await new Promise(setImmediate)
  }
  const digested = passwords.digest(7, 'right password')
  derived[0]!.end()
  const expected = { ...(await digested), hash: Buffer.alloc(32, 1).toString('base64') }
  const signIn = (address: string, password: string) =>
    passwords.matches({ address, who: 'hamlet', password, expected })
  const first = signIn('192.0.2.1', 'right')
  await end()
  assert.equal(await first, true)

  const strangers = [2, 3, 4].map((host) => signIn(`198.51.100.${host}`, `wrong ${host}`))
  const known = signIn('192.0.2.1', 'right')
  for (let count = 0; count < 4; count++) await end()
  assert.deepEqual(
    derived.slice(2).map(({ password }) => password),
    ['wrong 2', 'right', 'wrong 3', 'wrong 4'],
  )
  assert.deepEqual([await known, ...(await Promise.all(strangers))], [true, false, false, false])
})
