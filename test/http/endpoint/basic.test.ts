/** Basic credentials as either service reads them: RFC 7617. The forms of names: parsers.test.ts, chat/pipeline/credentials.test.ts. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BasicCredentials, readBasic } from '../../../firmware/http/endpoint/basic.ts'

const header = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

function expectBasic(...[text, form]: Parameters<typeof readBasic>): BasicCredentials {
  const credentials = readBasic(text, form)
  assert.ok(credentials !== null, String(text))
  return credentials
}

const secretOf = ({ withSecret }: BasicCredentials): string => withSecret((bytes) => Buffer.from(bytes).toString())

test('the first or the last colon ends the user', () => {
  const text = header('ann@host:8443:a secret')
  const first = expectBasic(text, { colon: 'first' })
  assert.deepEqual([first.user, secretOf(first)], ['ann@host', '8443:a secret'])
  const last = expectBasic(text, { colon: 'last' })
  assert.deepEqual([last.user, secretOf(last)], ['ann@host:8443', 'a secret'])
})

test('both may be empty, and the user may have characters of several bytes', () => {
  for (const [text, user, secret] of [
    [':', '', ''],
    ['ü€:ö:', 'ü€', 'ö:'],
  ] as const) {
    const credentials = expectBasic(header(text), { colon: 'first' })
    assert.deepEqual([credentials.user, secretOf(credentials)], [user, secret])
  }
})

test('the secret is gone from the lent memory when its use ends or fails, and is lent again', () => {
  const credentials = expectBasic(header('ann:a secret'), { colon: 'first' })
  let lent: Uint8Array | undefined
  credentials.withSecret((bytes) => {
    lent = bytes
    assert.equal(Buffer.from(bytes).toString(), 'a secret')
  })
  assert.deepEqual([...(lent ?? [])], Array(8).fill(0))
  const fails = () =>
    credentials.withSecret((bytes) => {
      lent = bytes
      throw new Error('used up')
    })
  assert.throws(fails, /used up/)
  assert.deepEqual([...(lent ?? [])], Array(8).fill(0))
  assert.equal(secretOf(credentials), 'a secret')
})

test('two requests have their own secrets, whichever is used first', () => {
  const [ann, bob] = ['ann:hers', 'bob:another'].map((text) => expectBasic(header(text), { colon: 'first' }))
  assert.deepEqual([secretOf(bob!), secretOf(ann!), secretOf(bob!)], ['another', 'hers', 'another'])
})

test('base64 without padding is read where it may be', () => {
  const text = header('ann:1234').replace(/=+$/, '')
  assert.notEqual((text.length - 'Basic '.length) % 4, 0)
  assert.equal(readBasic(text, { colon: 'first' }), null)
  const credentials = expectBasic(text, { colon: 'first', isPaddingOptional: true })
  assert.deepEqual([credentials.user, secretOf(credentials)], ['ann', '1234'])
})

test('no credentials: no colon, no base64, another scheme, nothing', () => {
  for (const text of [undefined, '', 'Basic', 'Basic YTo-', 'Bearer YTpi', 'Basic YTpi extra', header('ann')])
    assert.equal(readBasic(text, { colon: 'last', isPaddingOptional: true }), null, String(text))
})

test('what is longer than any header is refused, not cut', () => {
  const fits = header(`ann:${'a'.repeat(16_383 - 4)}`)
  assert.equal(secretOf(expectBasic(fits, { colon: 'first' })).length, 16_379)
  assert.equal(readBasic(header(`ann:${'a'.repeat(16_384)}`), { colon: 'first' }), null)
})
