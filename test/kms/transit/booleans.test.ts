/** Booleans of queries and bodies as OpenBao reads them: those of Go's strconv.ParseBool. hvac sends `list=True`. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTransit, say } from './rig.ts'

const TRUE = ['1', 't', 'T', 'TRUE', 'true', 'True']
const FALSE = ['0', 'f', 'F', 'FALSE', 'false', 'False']

test('lists by query, and texts in bodies, take every spelling of Go and no other', async (t) => {
  const { rig, admin: token } = await openTransit()
  t.after(() => rig.close())
  await say(rig, 'POST', 'transit/keys/app', { token })
  for (const [spellings, isTrue] of [
    [TRUE, true],
    [FALSE, false],
  ] as const)
    for (const text of spellings) {
      const { status, body } = await say(rig, 'GET', `transit/keys?list=${text}`, { token })
      assert.deepEqual([status, body.data?.keys], isTrue ? [200, ['app']] : [405, undefined], text)
      const configured = await say(rig, 'POST', 'transit/keys/app/config', { token, body: { deletion_allowed: text } })
      assert.deepEqual([configured.status, configured.body.data?.deletion_allowed], [200, isTrue], text)
    }
  for (const text of ['yes', 'x', 'tRUE', '2']) {
    for (const path of ['transit/keys', 'transit/keys/app'])
      assert.deepEqual(await say(rig, 'GET', `${path}?list=${text}`, { token }), { status: 400, body: { errors: [] } })
    const configured = await say(rig, 'POST', 'transit/keys/app/config', { token, body: { deletion_allowed: text } })
    assert.equal(configured.status, 400, text)
  }
})
