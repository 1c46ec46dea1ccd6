/** No answer with a member that contract section 1.9 lists is compressed, wherever in it the secret is. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compress } from '../../../firmware/chat/pipeline/compression.ts'
import { successReply } from '../../../firmware/chat/pipeline/envelope.ts'
import { contractTable } from '../support/contract.ts'

/** Secrets of one value, or an object of them. */
const OBJECTS: ReadonlySet<string> = new Set(['config_data', 'storage'])
const members = contractTable('1.9')
  .slice(1)
  .flatMap(([names]) => names!.split(',').map((name) => name.trim().split(' ')[0]!))

const chosen = 'text that another user chose '.repeat(400)

async function codingOf(answer: Record<string, unknown>): Promise<string | undefined> {
  const { headers } = await compress(successReply(answer, []), 'zstd, gzip')
  return headers['content-encoding']
}

test('the contract lists the secrets', () => {
  assert.deepEqual(members, ['api_key', 'token', 'config_data', 'link_url', 'invite_link', 'export_url', 'storage'])
})

for (const name of members) {
  const secret = OBJECTS.has(name) ? { key: 'secret' } : 'secret'
  for (const [place, answer] of [
    ['at the top', { chosen, [name]: secret }],
    ['in a list', { [name]: '', list: [{ chosen }, { [name]: secret }] }],
    ['deep inside', { a: { b: [{ c: { [name]: secret } }] }, chosen }],
  ] as const)
    test(`an answer with ${name} ${place} is not compressed`, async () => {
      assert.equal(await codingOf(answer), undefined)
    })
  test(`an answer with an empty ${name} is compressed`, async () => {
    assert.equal(await codingOf({ chosen, [name]: OBJECTS.has(name) ? {} : '' }), 'zstd')
  })
}
