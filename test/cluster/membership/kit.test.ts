/** The joiner kit: only the passphrase that sealed it opens it, and only an unchanged one. */

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../../firmware/base/error.ts'
import { type JoinerKit, readKit, sealKit } from '../../../firmware/cluster/membership/kit.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { deriveSealKey, seal } from '../../../firmware/crypto/seal.ts'

const BACKUP_KEY = { salt: new Uint8Array(16).fill(5), key: new Uint8Array(32).fill(6) }

const KIT: JoinerKit = {
  slot: Buffer.from('the sealed domain key').toString('base64'),
  token: 'a token of the cluster',
  clusterId: 'cdf818194e3a8c32',
  memberId: '8e9e05c52164694d',
  generation: 'AB12',
  head: { format: 1, n: 12, sets: { users: [3, Buffer.alloc(32, 9).toString('base64')] } },
  revision: 7,
  digest: 'aa'.repeat(32),
}

const invalid = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CofferError, String(error))
  assert.equal(error.code, 'invalid')
  assert.match(error.message, message)
  return true
}

const kit = () => sealKit(KIT, BACKUP_KEY, systemRandom)

test('gives what was sealed, and before that the salt of its passphrase', () => {
  const sealed = readKit(kit())
  assert.deepEqual(sealed.salt, BACKUP_KEY.salt)
  assert.deepEqual(sealed.open(BACKUP_KEY.key), KIT)
})

test('shows nothing of what is in it, and no two are alike', () => {
  const [first, second] = [kit(), kit()]
  assert.notEqual(first, second)
  const bytes = Buffer.from(first, 'base64')
  for (const text of [KIT.slot, KIT.token, KIT.clusterId, KIT.memberId, 'the sealed domain key', 'users'])
    assert.equal(bytes.includes(text), false, text)
})

test('another passphrase does not open it', () => {
  assert.throws(() => readKit(kit()).open(new Uint8Array(32).fill(7)), invalid(/^Wrong backup passphrase, or/))
  // The key of a backup is not the one of a kit.
  assert.throws(() => readKit(kit()).open(deriveSealKey(BACKUP_KEY.key, 'coffer backup header')), invalid(/^Wrong/))
})

test('whatever bit of it was changed, it is refused', () => {
  const bytes = Buffer.from(kit(), 'base64')
  for (let at = 0; at < bytes.length; at++) {
    const edited = Buffer.from(bytes)
    edited[at]! ^= 1 << (at % 8)
    const isSalt = at > 0 && at <= 16
    if (isSalt) assert.notDeepEqual(readKit(edited.toString('base64')).salt, BACKUP_KEY.salt)
    else assert.throws(() => readKit(edited.toString('base64')).open(BACKUP_KEY.key), invalid(/joiner ?kit/i))
  }
  for (const length of [0, 1, 17, 56, bytes.length - 1])
    assert.throws(
      () => readKit(bytes.subarray(0, length).toString('base64')).open(BACKUP_KEY.key),
      invalid(/joiner ?kit/i),
    )
})

test('refuses any other text', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.base64String(), fc.uint8Array().map(base64)), (text) => {
      assert.throws(() => readKit(text).open(BACKUP_KEY.key), invalid(/joiner ?kit/i))
    }),
  )
  assert.throws(
    () => readKit(base64(Uint8Array.of(2, ...Buffer.from(kit(), 'base64').subarray(1)))),
    invalid(/version/),
  )
})

test('refuses what somebody sealed who knows the passphrase, but not what belongs in it', () => {
  const sealed = (value: unknown): string => {
    const bytes = seal(
      deriveSealKey(BACKUP_KEY.key, 'coffer joiner kit'),
      Buffer.from(JSON.stringify(value)),
      systemRandom,
    )
    return base64(Uint8Array.of(1, ...BACKUP_KEY.salt, ...bytes))
  }
  assert.deepEqual(readKit(sealed(KIT)).open(BACKUP_KEY.key), KIT)
  const wrong: unknown[] = [null, 1, 'text', [], {}, { ...KIT, slot: 'not base 64!' }, { ...KIT, memberId: '0x1' }]
  wrong.push({ ...KIT, clusterId: 'AB' }, { ...KIT, generation: 'A' }, { ...KIT, revision: 0 }, { ...KIT, head: {} })
  wrong.push(
    { ...KIT, head: { format: 1, n: -1, sets: {} } },
    { ...KIT, head: { format: 1, n: 1, sets: { users: [1] } } },
  )
  for (const value of wrong)
    assert.throws(() => readKit(sealed(value)).open(BACKUP_KEY.key), invalid(/was not made by this software/))
  assert.throws(() => readKit(sealed(KIT).slice(0, -8)).open(BACKUP_KEY.key), invalid(/joiner kit/))
})

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
