// @test long 30
/** A chat that fails in every way, or that somebody has taken over: the appliance goes on, and gives nothing away. */

import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import type { Plugin } from 'esbuild'
import { LINES_MIN } from '../../../firmware/audit/audit-log.ts'
import { bundle } from '../../../tools/build.ts'
import { NOTHING, search, tracesOfText } from '../../crypto/memory-search.ts'
import { ADMIN, ADMIN_PASSPHRASE, expect, provision, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { ask, auditLines, chatPid, keyOf, makeOrganization, OWNER, reach, statusOf } from '../support/process.ts'
import type { Order } from './probe/chat.ts'

const isRoot = process.geteuid!() === 0
const OPERATOR = 'operator:an operator of keys'
const MESSAGE = Buffer.alloc(32, 7).toString('base64')

const probeInPlace: Plugin = {
  name: 'probe in place of the chat',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/main\.ts$/ }, ({ kind, path }) =>
      kind === 'entry-point' && path.endsWith('firmware/chat/process/main.ts')
        ? { path: resolve(import.meta.dirname, 'probe/chat.ts') }
        : null,
    )
  },
}

let directory: string
before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coffer-probe-'))
  chmodSync(directory, 0o755) // where we are root, the processes are other users
  await bundle(directory, undefined, [probeInPlace])
})
after(() => rmSync(directory, { recursive: true, force: true }))

async function started(t: TestContext, data: string): Promise<Coffer> {
  const coffer = startCoffer(t, { program: join(directory, 'boot.js'), data, settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.target()
  await provision(coffer)
  await makeOrganization(coffer)
  return coffer
}

const order = (data: string, what: Order): void => {
  const [written, place] = [join(data, 'chat/order.new'), join(data, 'chat/order')]
  writeFileSync(written, JSON.stringify(what))
  chmodSync(written, 0o644)
  renameSync(written, place) // complete when the chat finds it, which removes it
}

test('a chat that runs out of memory, or throws, is started again, and every signature meanwhile is made', {
  timeout: 300_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await started(t, data)
  const operator = { realName: 'Operator', role: 'Operator', passphrase: OPERATOR.split(':')[1] }
  await expect(201, coffer.call('PUT', '/users/operator', { as: ADMIN, json: operator }))
  const key = { mechanisms: ['ECDSA_Signature'], type: 'EC_P256', id: 'key' }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  let signing = true
  let signatures = 0
  const signed = (async () => {
    for (; signing; signatures++) {
      const json = { mode: 'ECDSA', message: MESSAGE }
      await expect(200, coffer.call('POST', '/keys/key/sign', { as: OPERATOR, json }))
    }
  })()
  signed.catch(() => {}) // awaited below
  const firmware = await coffer.firmwarePid()
  for (const [what, end] of [
    ['exhaust', /The chat ended with (SIGABRT|SIGTRAP|exit code 134)\. It is started again/],
    ['throw', /The chat ended with exit code 70\. It is started again/],
  ] as const) {
    const { port } = await reach(coffer, 'running')
    order(data, { do: what })
    await coffer.see(end)
    await reach(coffer, 'running')
    assert.equal((await ask(port!, 'GET', '/server_settings')).status, 200)
  }
  signing = false
  await signed
  assert.ok(signatures > 0)
  assert.equal(await coffer.firmwarePid(), firmware)
})

test('from inside the chat neither store, device key, key of the appliance nor another process is reached', {
  timeout: 120_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await started(t, data)
  await reach(coffer, 'running')
  const secrets = ['device.key', 'lock', 'store', ...readdirSync(join(data, 'store')).map((file) => `store/${file}`)]
  const paths = [...secrets.map((file) => join(data, file)), '/etc/shadow', join(data, 'planted')]
  const before = paths.map(contentOf)
  const pids = [coffer.bootPid(), await coffer.firmwarePid()]
  const addon = join(directory, `chat-linux-${process.arch}.node`)
  order(data, { do: 'escape', paths, pids, addon })
  await coffer.see(/probe: finished/)
  const findings = new Map<string, string>()
  for (const [, name, finding] of coffer.output().matchAll(/probe: (.*): (\w+)$/gm)) findings.set(name!, finding!)

  const expected: [RegExp, RegExp][] = [
    [/^(read|list|write) /, /^ERR_ACCESS_DENIED$/],
    [/^(run|native code|inspector)$/, /^ERR_ACCESS_DENIED$/],
    [/^(inspector session)$/, /^ERR_/],
    [/^(extension|thread)$/, /^TypeError$/],
    // Below the permission model only another user keeps them apart.
    ...(isRoot
      ? ([
          [/^natively /, /^SQLITE_CANTOPEN$/],
          [/^(signal|debug) /, /^(EPERM|ERR_ACCESS_DENIED)$/],
        ] satisfies [RegExp, RegExp][])
      : []),
    [/^(own database|addon)$/, /^works$/], // so the others would tell
  ]
  const wrong = [...findings].filter(
    ([name, finding]) => !(expected.find(([names]) => names.test(name))?.[1] ?? /^/).test(finding),
  )
  assert.deepEqual(wrong, [])
  for (const name of [`read ${pids[1]} mem`, `natively ${join(data, 'device.key')}`, 'thread', 'own database'])
    assert.ok(findings.has(name), name)
  assert.deepEqual(paths.map(contentOf), before)
  assert.equal((await statusOf(coffer)).state, 'running')
})

const contentOf = (path: string): string | null => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return null // a directory, or nothing
  }
}

test('it pushes no line of others out of the audit log, and none that it tells is of others', {
  timeout: 120_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await started(t, data)
  const { port } = await reach(coffer, 'running')
  await expect(204, coffer.call('PUT', '/config/audit', { as: ADMIN, json: { lines: LINES_MIN } }))
  const act = {
    user: 0,
    address: '',
    method: 'DELETE',
    path: '/keys/{key_id}',
    result: 200,
    facts: { key_id: 1 },
    share: { of: 'administrators', account: 0 },
  }
  const forged = [
    { ...act, user: 'admin' },
    { ...act, action: 'DELETE /keys/{id}', key: 'a-key', namespace: 'root', time: '1970-01-01T00:00:00Z' },
    { ...act, path: '/keys/a-key' },
    { ...act, result: 401 },
    ...[1, 2, 3, 4].map((account) => ({ ...act, share: { of: 'accounts', account } })),
    ...[1, 2, 3].map((account) => ({ ...act, share: { of: 'administrators', account } })),
  ]
  const messages = forged.map((act, id) => ({ type: 'act', id, act }))
  order(data, { do: 'tell', messages, times: 5 * LINES_MIN })
  await coffer.see(/probe: finished/)
  // The link is in order: this is told after all of that.
  await keyOf(port!)
  assert.equal((await statusOf(coffer)).state, 'running')
  const lines = await auditLines(coffer)
  const own = lines.filter(({ user }) => user === 'admin').map(({ action }) => action)
  for (const action of ['PUT /chat/organization', 'PUT /config/audit']) assert.ok(own.includes(action), action)
  const told = lines.filter(({ action }) => action.includes('key_id') || action.includes('DELETE'))
  assert.ok(told.length > 100 && told.length < LINES_MIN, String(told.length))
  for (const line of told) {
    const { action, user, key, namespace, time } = line
    const marked = ['chat DELETE /keys/{key_id}', 'chat:0', '', '']
    assert.deepEqual([action, user, key, namespace], marked, JSON.stringify(line))
    assert.notEqual(time, '1970-01-01T00:00:00Z')
  }
})

test('it inherits no descriptor and nothing in its environment that leads to a secret', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await started(t, data)
  await reach(coffer, 'running')
  const pid = await chatPid(coffer)
  assert.match(readFileSync(`/proc/${pid}/environ`, 'utf8'), /^GLIBC_TUNABLES=[\w.=\0]*$/) // which the C library has cut up
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
  const known = /^((socket|pipe|anon_inode):|\/dev\/(null|urandom)$)/
  const files = targets.filter((target) => !known.test(target) && !target.startsWith(`${join(data, 'chat')}/`))
  // The lock has nothing in it, and the files of the page are for everybody.
  const isPage = (target: string) => target.endsWith('/chat-page.bin')
  assert.deepEqual(new Set(files.filter((target) => !isPage(target))), new Set([join(data, 'lock')]))
  assert.equal(readFileSync(join(data, 'lock'), 'utf8').replace(/\d+\s*/, ''), '')
})

test('of the keys beside it nothing is in its memory', { skip: !isRoot && 'only root reads it' }, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await started(t, data)
  await reach(coffer, 'running')
  const deviceKey = { name: 'device key', patterns: [readFileSync(join(data, 'device.key'))], limbs: [] }
  const passphrases = [UNLOCK_PASSPHRASE, ADMIN_PASSPHRASE].map((text) => tracesOfText(text, text))
  const pid = await chatPid(coffer)
  assert.deepEqual(search(pid, [deviceKey, ...passphrases]), NOTHING)
  assert.notDeepEqual(search(pid, [tracesOfText('an address', OWNER)]), NOTHING, 'it would be found')
})

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return 'socket:closed meanwhile'
  }
}
