// @test long 60
/** The recorded questions, asked of a fresh OpenBao: it still answers as was recorded, so recorded.test.ts compares Coffer with it. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../tools/free-ports.ts'
import { PYTHON } from '../../support/tools.ts'
import { type Ask, answers, Conversation, cases, expectForm, skip as noVectors } from './recorded.ts'
import { ADMIN, OPERATOR } from './rig.ts'

const BAO = join(dirname(PYTHON), 'bao')
const skip =
  noVectors ||
  (process.env.CI !== 'true' &&
    !existsSync(BAO) &&
    'to run this: .venv/bin/pip install -r test/accept/requirements.txt')

const STARTED_MS_MAX = 60_000
const ROOT = 'root'

/** Paths and capabilities as in the README of the recordings. */
const USES = ['encrypt', 'decrypt', 'rewrap', 'datakey', 'sign', 'verify', 'hmac', 'random', 'hash']
const COMMON = {
  'transit/keys': ['list'],
  'sys/mounts': ['read'],
  'auth/token/create': ['update'],
  'auth/token/lookup': ['update'],
}
const POLICIES = {
  administrator: { ...COMMON, 'transit/keys/*': ['create', 'update', 'read', 'delete', 'list'] },
  operator: {
    ...COMMON,
    'transit/keys/*': ['list', 'read'],
    'transit/export/public-key/*': ['read'],
    ...Object.fromEntries(
      USES.flatMap((use) => [`transit/${use}`, `transit/${use}/*`]).map((path) => [path, ['update']]),
    ),
  },
}

/** `fetch` of Node refuses some of the recorded requests: GET with a body, methods in other letters. */
const askOf =
  (port: number): Ask =>
  async (method, path, { headers, body }) => {
    const asked = request({ host: '127.0.0.1', port, method, path, headers })
    asked.end(body)
    const [response] = await once(asked, 'response')
    const text = (await response.toArray()).join('')
    return { status: response.statusCode, body: text === '' ? null : JSON.parse(text) }
  }

async function startBao(): Promise<{ ask: Ask; end: () => Promise<void> }> {
  const home = mkdtempSync(join(tmpdir(), 'coffer-bao-dev-'))
  const port = await freePort()
  const options = ['-dev', `-dev-root-token-id=${ROOT}`, `-dev-listen-address=127.0.0.1:${port}`, '-dev-no-store-token']
  const env = { PATH: process.env.PATH, HOME: home }
  const server: ChildProcess = spawn(BAO, ['server', ...options], { env, stdio: 'ignore' })
  const end = async () => {
    if (server.exitCode === null) {
      server.kill()
      await once(server, 'exit')
    }
    rmSync(home, { recursive: true, force: true })
  }
  const ask = askOf(port)
  const limit = performance.now() + STARTED_MS_MAX
  for (;;) {
    const { status } = await ask('GET', '/v1/sys/health', { headers: {} }).catch(() => ({ status: 0 }))
    if (status === 200) return { ask, end }
    if (server.exitCode !== null || performance.now() > limit) {
      await end()
      throw new Error('bao server does not start')
    }
    await sleep(200)
  }
}

async function prepare(ask: Ask): Promise<void> {
  const write = async (path: string, value: object) => {
    const { status, body } = await ask('POST', `/v1/${path}`, {
      headers: { 'x-vault-token': ROOT },
      body: JSON.stringify(value),
    })
    assert.ok(status < 300, `${path}: ${status} ${JSON.stringify(body)}`)
  }
  await write('sys/mounts/transit', { type: 'transit' })
  await write('transit/config/keys', { disable_upsert: true })
  for (const type of ['userpass', 'approle']) await write(`sys/auth/${type}`, { type })
  for (const [name, paths] of Object.entries(POLICIES)) {
    const policy = Object.entries(paths).map(
      ([path, capabilities]) => `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`,
    )
    await write(`sys/policies/acl/${name}`, { policy: policy.join('\n') })
  }
  await write('auth/userpass/users/admin', { password: ADMIN, token_policies: 'administrator' })
  await write('auth/userpass/users/web', { password: OPERATOR, token_policies: 'operator' })
  await write('auth/approle/role/web', { token_policies: 'operator' })
  await write('auth/approle/role/web/role-id', { role_id: 'web' })
  await write('auth/approle/role/web/custom-secret-id', { secret_id: OPERATOR })
}

test('a fresh OpenBao answers every recorded question as was recorded', { skip, timeout: 300_000 }, async (t) => {
  const { ask, end } = await startBao()
  t.after(end)
  await prepare(ask)
  const conversation = new Conversation(ask)
  const recorded = answers()
  const wrong: string[] = []
  for (const question of cases()) {
    const { name, statusOnly } = question
    const answer = await conversation.answer(question)
    const { status, body } = recorded.get(name)!
    try {
      assert.equal(answer.status, status)
      if (!statusOnly) expectForm(answer.body, body)
    } catch (error) {
      wrong.push(`${name}: ${(error as Error).message.slice(0, 200)} ${JSON.stringify(answer).slice(0, 300)}`)
    }
  }
  assert.deepEqual(wrong, [])
})
