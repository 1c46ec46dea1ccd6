/** Events of the chat in the audit log of the appliance, with both processes. Contract section 3.9. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { ask, auditLines, keyOf, makeOrganization, OWNER, reach } from '../support/process.ts'

let program: string
before(async () => {
  program = await buildForTests()
})

test('who signs in to the chat, makes accounts and gives roles has a line of the chat, and no name is in it', async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.target()
  await provision(coffer)
  await makeOrganization(coffer)
  const { port } = await reach(coffer, 'running')
  const owner = await keyOf(port!)
  const { user_id: id } = (await ask(port!, 'GET', '/users/me', { as: owner })).body
  const wrong = { username: OWNER, password: 'a password that is not hers' }
  assert.equal((await ask(port!, 'POST', '/fetch_api_key', { form: wrong })).status, 401)
  const form = { email: 'ophelia@example.org', password: 'a password of ophelia', full_name: 'Ophelia' }
  const { user_id: made } = (await ask(port!, 'POST', '/users', { as: owner, form })).body
  assert.equal((await ask(port!, 'PATCH', `/users/${made}`, { as: owner, form: { role: '200' } })).status, 200)
  assert.equal((await ask(port!, 'POST', '/users/me/presence', { as: owner, form: { status: 'active' } })).status, 200)

  const key = 'K3y0fAnInvitation'.padEnd(32, 'x')
  assert.equal((await ask(port!, 'GET', `/join/${key}`)).status, 404)
  await coffer.see(/request GET \/api\/v1\/join\/\.\.\.\n/)
  assert.ok(!coffer.output().includes(key))
  await ask(port!, 'POST', '/mobile_push/test_notification')
  await coffer.see(/request POST \/api\/v1\/mobile_push\/test_notification\n/)

  const lines = (await auditLines(coffer)).filter(({ action }) => action.startsWith('chat '))
  assert.deepEqual(
    lines.map(({ kind, user, address, action, result, facts }) => [kind, user, address, action, result, facts]),
    [
      ['change', `chat:${id}`, '127.0.0.1', 'chat POST /fetch_api_key', 200, undefined],
      ['refusal', `chat:${id}`, '127.0.0.1', 'chat POST /fetch_api_key', 401, undefined],
      ['change', `chat:${id}`, '127.0.0.1', 'chat POST /users', 200, { made: String(made) }],
      ['change', `chat:${id}`, '127.0.0.1', 'chat PATCH /users/{user_id}', 200, { user_id: String(made), role: '200' }],
    ],
  )
  assert.doesNotMatch(JSON.stringify(lines), /ophelia|olivia|example/i)
  const path = `/audit?user=${encodeURIComponent(`chat:${id}`)}&action=chat`
  const shown = (await expect(200, coffer.call('GET', path, { as: ADMIN }))).json<{ lines: unknown[] }>()
  assert.equal(shown.lines.length, lines.length)
})
