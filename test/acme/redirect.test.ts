/** The port for plain HTTP during http-01: pending tokens are answered, and all else is redirected. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createChallenges } from '../../firmware/acme/challenges.ts'
import { createLog } from '../../firmware/base/log.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { listenRedirect } from '../../firmware/http/server/redirect.ts'

const PLACE = '/.well-known/acme-challenge/'

async function open(t: TestContext) {
  const challenges = createChallenges(systemRandom, async () => {})
  const lines: string[] = []
  const log = createLog('debug', ({ message }) => void lines.push(message))
  const { authorizationOf } = challenges
  const options = { host: '127.0.0.1', port: 0, tlsPort: 8443, log, now: Date.now, authorizationOf }
  const redirect = await listenRedirect(options)
  t.after(() => redirect.close())
  const ask = (path: string, method = 'GET') =>
    fetch(`http://127.0.0.1:${redirect.port}${path}`, { method, redirect: 'manual' })
  return { challenges, ask, lines }
}

test('a token is answered while it is pending', async (t) => {
  const { challenges, ask, lines } = await open(t)
  assert.equal((await ask(`${PLACE}token-1`)).status, 301)
  const withdraw = await challenges.publish('http-01', 'coffer.test', 'token-1', 'token-1.thumbprint')
  const answer = await ask(`${PLACE}token-1`)
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'token-1.thumbprint')
  assert.equal(answer.headers.get('content-type'), 'application/octet-stream')
  await withdraw()
  assert.equal((await ask(`${PLACE}token-1`)).status, 301)
  assert.ok(!lines.some((line) => line.includes('thumbprint')))
})

test('other paths and methods are redirected as before', async (t) => {
  const { challenges, ask } = await open(t)
  await challenges.publish('http-01', 'coffer.test', 'token-1', 'token-1.thumbprint')
  for (const path of ['/', `${PLACE}token-2`, `${PLACE}token-1/`, `${PLACE}token-1?x`, PLACE, `${PLACE}__proto__`]) {
    const { status, headers } = await ask(path)
    assert.deepEqual([status, headers.get('location')], [301, `https://127.0.0.1:8443${path}`])
  }
  assert.equal((await ask(`${PLACE}token-1`, 'POST')).status, 301)
})
