/** Wrong passwords slow down the client that sends them, and lock nobody else out. Contract section 1.2. */

import assert from 'node:assert/strict'
import { request } from 'node:https'
import { type TestContext, test } from 'node:test'
import { OWNER_PASSWORD, openTestChat } from '../support/chat.ts'
import { serve } from '../support/serving.ts'

const NAME = 'olivia@example.com'

async function served(t: TestContext) {
  let nowMs = 0
  const rig = await openTestChat({ nowMs: () => nowMs })
  t.after(() => rig.close())
  const port = await serve(t, { fetch: (request, env) => rig.chat.api.fetch(request, env) })
  const call = (localAddress: string, method: string, path: string, values: Record<string, string>, as?: string) =>
    new Promise<{ status: number; code: string | undefined; retryAfter: string | undefined }>((resolve, reject) => {
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        ...(as !== undefined && { authorization: `Basic ${Buffer.from(as).toString('base64')}` }),
      }
      const options = { host: '127.0.0.1', port, localAddress, agent: false, method, path: `/api/v1${path}`, headers }
      const sent = request({ ...options, rejectUnauthorized: false }, async (answer) => {
        const { code } = JSON.parse(Buffer.concat(await answer.toArray()).toString())
        resolve({ status: answer.statusCode!, code, retryAfter: answer.headers['retry-after'] })
      })
      sent.once('error', reject).end(new URLSearchParams(values).toString())
    })
  return {
    rig,
    call,
    signIn: (from: string, password: string, username = NAME) =>
      call(from, 'POST', '/fetch_api_key', { username, password }),
    advance: (ms: number) => {
      nowMs += ms
    },
  }
}

const [STRANGER, HOME] = ['127.0.0.66', '127.0.0.7']

test('wrong passwords of a stranger keep the account open for its owner', async (t) => {
  const { signIn, advance } = await served(t)
  for (let count = 0; count < 20; count++) {
    assert.equal((await signIn(STRANGER, 'wrong')).status, 401)
    advance(1000)
  }
  assert.equal((await signIn(STRANGER, 'wrong')).status, 401)
  assert.equal((await signIn(HOME, OWNER_PASSWORD)).status, 200)
})

test('a wrong password blocks its name from the same address for a second, also the right password', async (t) => {
  const { signIn, advance } = await served(t)
  assert.equal((await signIn(STRANGER, 'wrong')).status, 401)
  assert.deepEqual(await signIn(STRANGER, OWNER_PASSWORD, 'Olivia@Example.com '), {
    status: 429,
    code: 'RATE_LIMIT_HIT',
    retryAfter: '1',
  })
  assert.equal((await signIn(STRANGER, 'wrong', 'nobody@example.com')).status, 401)
  advance(1000)
  assert.equal((await signIn(STRANGER, OWNER_PASSWORD)).status, 200)
})

test('of guesses that come together from one address one is judged', async (t) => {
  const { signIn } = await served(t)
  const answers = await Promise.all(Array.from({ length: 10 }, () => signIn(STRANGER, 'wrong')))
  assert.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [401, ...Array.from({ length: 9 }, () => 429)],
  )
})

test('the old password of a change is guessed no faster, and a stranger does not hold up the change', async (t) => {
  const { rig, call, signIn } = await served(t)
  const change = (old_password: string) =>
    call(HOME, 'PATCH', '/settings', { old_password, new_password: 'another password' }, `${NAME}:${rig.owner.key}`)
  assert.equal((await signIn(HOME, 'wrong')).status, 401)
  assert.equal((await change('wrong')).status, 400)
  assert.equal((await change(OWNER_PASSWORD)).status, 429)
})

test('a recovered owner is let in at once, whatever was tried before from there', async (t) => {
  const { rig, signIn } = await served(t)
  for (let count = 0; count < 6; count++) await signIn(HOME, 'wrong')
  await rig.chat.recoverOwner(NAME, 'a new password of hers')
  assert.equal((await signIn(HOME, 'a new password of hers')).status, 200)
})
