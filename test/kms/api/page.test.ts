/** The pages for people over the real declarations: every example is a request that the appliance understands. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { DECLARATIONS } from '../../../firmware/app.ts'
import { splitLine } from '../../support/client.ts'
import { type Call, openRig, operationalRig, type Rig } from '../../support/in-process.ts'

const decodeEntities = (text: string): string =>
  text.replace(
    /&(quot|#39|lt|gt|amp);/g,
    (_, name) => ({ quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' })[name as 'lt'],
  )

async function readPage(rig: Rig): Promise<string> {
  const { status, text } = await rig.call('GET', '/../../docs')
  assert.equal(status, 200)
  return text()
}

function examplesOf(page: string): string[][] {
  const lines = [...page.matchAll(/<pre><code>(.*?)<\/code><\/pre>/gs)].map(([, line]) => decodeEntities(line!))
  const script = ['coffer=', 'curl() { printf "%s\\0" curl "$@"; }', ...lines].join('\n')
  const output = execFileSync('sh', ['-e', '-c', script], { encoding: 'utf8' })
  return output
    .split('curl\0')
    .slice(1)
    .map((words) => words.split('\0').slice(0, -1))
}

interface Example {
  line: string
  call: Call
}

function requestOf(words: readonly string[]): Example {
  const values = (name: string) => words.flatMap((word, index) => (words[index - 1] === name ? [word] : []))
  const [method = 'GET'] = values('--request')
  const [as] = values('--user')
  const [data] = [...values('--data'), ...values('--data-binary')]
  const headers = Object.fromEntries(values('--header').map((header) => header.split(': ') as [string, string]))
  const parts = values('--form').map((part) => /^([^=]*)=(.*)$/s.exec(part)!)
  const form = new FormData()
  for (const [, name, value] of parts) form.append(name!, value!.startsWith('@') ? new Blob(['bytes']) : value!)
  const body = parts.length > 0 ? form : data?.startsWith('@') ? 'bytes' : data
  return { line: `${method} ${words.at(-1)}`, call: { as, headers, ...(body !== undefined && { body }) } }
}

async function fillStore(rig: Rig, line: string): Promise<void> {
  const make = async (line: string, call?: Call) =>
    assert.ok((await rig.status(...splitLine(line), { as: 'admin', ...call })) < 400, line)
  for (const id of ['myKey1', 'myKey2']) await rig.call('DELETE', `/keys/${id}`, { as: 'admin' })
  const data = Buffer.alloc(16, 7).toString('base64')
  const json = /\/(en|de)crypt$/.test(line)
    ? { type: 'Generic', mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'], private: { data } }
    : { type: 'Curve25519', mechanisms: [], private: { data: Buffer.alloc(32, 7).toString('base64') } }
  if (line.endsWith('/sign')) Object.assign(json, { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })
  const makesKey = line === 'PUT /keys/myKey1' || line === 'POST /keys/generate'
  if (!makesKey) await make('PUT /keys/myKey1', { json })
  const headers = { 'content-type': 'application/x-pem-file' }
  if (line.endsWith('/cert') && !line.startsWith('PUT'))
    await make('PUT /keys/myKey1/cert', { headers, body: 'a certificate' })
  if (line.startsWith('DELETE') && line.endsWith('/tags/berlin')) await make(line.replace('DELETE', 'PUT'))
  if (line.endsWith('/namespaces/backend/quota')) await rig.call('PUT', '/namespaces/backend', { as: 'admin' })
  if (line.includes('/config/syslog/tls/'))
    await make('POST /config/syslog/tls/generate', { json: { type: 'EC_P256' } })
  if (line === 'POST /users/backend~') await rig.call('DELETE', '/namespaces/backend', { as: 'admin' })
  if (line === 'PUT /users/operator') await make('DELETE /users/operator')
}

/** Understood, and then refused for what only a real file, peer or passphrase would be right. */
const REFUSED: Readonly<Record<string, number>> = {
  'PUT /config/tls/cert.pem': 400,
  'PUT /config/tls/cluster-ca.pem': 400,
  'PUT /config/syslog': 412, // nothing forwards here: test/forwarding
  'POST /config/mail/test': 412, // nothing sends here: test/alerts
  'PUT /config/syslog/tls/cert.pem': 400,
  'PUT /cluster/tls/cert.pem': 400,
  'PUT /cluster/tls/ca.pem': 400,
  'GET /cluster/tls/ca.pem': 404, // none is set
  'GET /config/tls/cluster-ca.pem': 404, // none is set
  'POST /config/unlock-passphrase': 403,
  'PUT /config/unlock-passphrase': 403,
  'DELETE /users/operator/access-keys/COFRKRSXG5CUMVZXIMJS': 404,
  'POST /system/restore': 400,
  'POST /system/update': 400,
  'POST /system/commit-update': 412,
  'POST /system/cancel-update': 412,
  'POST /cluster/members': 400,
  'PUT /cluster/members/8e9e05c52164694d': 404,
  'DELETE /cluster/members/8e9e05c52164694d': 404,
  'POST /cluster/members/8e9e05c52164694d/promote': 404,
  'POST /cluster/join': 412, // no cluster CA
  'POST /cluster/force-new': 401, // who calls is not `unlock`
}
const ELSEWHEN = ['GET /health/alive', 'POST /provision', 'POST /unlock']
/** Not available without the chat's process, which the boot manager starts: test/chat/process. */
const OF_CHAT = /^\w+ \/chat(\/|$)/
const LAST = ['POST /users/operator/passphrase', 'DELETE /users/operator', 'POST /lock']

test('every endpoint has an example, which does what the endpoint is for', async (t) => {
  const rig = await operationalRig(t)
  const examples = examplesOf(await readPage(rig)).map(requestOf)
  assert.equal(examples.length, DECLARATIONS.length)
  const lateness = ({ line }: Example) => LAST.indexOf(line)
  for (const { line, call } of examples.sort((a, b) => lateness(a) - lateness(b))) {
    await fillStore(rig, line)
    const { status, text } = await rig.call(...splitLine(line), { as: 'admin', ...call })
    const isElsewhere = ELSEWHEN.includes(line) || OF_CHAT.test(line)
    const expected = isElsewhere ? 412 : (REFUSED[line] ?? 200)
    const isExpected = expected === 200 ? status < 300 : status === expected
    assert.ok(isExpected, `${line}: ${status} ${text()}`)
    if (line === 'PUT /users/operator') rig.use('operator', 'operator of the web') // what the example says
  }
})

test('the example of a provisioning is understood, too', async (t) => {
  const rig = await openRig(t)
  const example = examplesOf(await readPage(rig))
    .map(requestOf)
    .find(({ line }) => line === 'POST /provision')!
  assert.equal(await rig.status(...splitLine(example.line), { as: 'admin', ...example.call }), 204)
})

test('code stands in the page as code, and not between backticks', async (t) => {
  const rig = await openRig(t)
  const page = await readPage(rig)
  assert.ok(!page.includes('`'))
  assert.ok(page.includes('Every answer from 400 on carries <code>{&quot;message&quot;}</code>.'))
})

test('/docs/ is /docs, in every state', async (t) => {
  for (const rig of [await openRig(t), await openRig(t, null), await operationalRig(t)]) {
    assert.equal((await rig.call('HEAD', '/../../docs')).status, 200)
    assert.equal((await rig.call('POST', '/../../docs')).status, 405)
    assert.equal((await rig.call('GET', '/../../docs/')).text(), await readPage(rig))
    assert.equal((await rig.call('GET', '/../../docs//')).status, 404)
  }
})

test('answers of 304 are in the documents where there are any', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('k')
  const { paths } = (await rig.call('GET', '/openapi.json')).json()
  for (const [line, path, json] of [
    ['PUT /keys/k/label', '/keys/{id}/label', { label: 'l' }],
    ['PUT /keys/k/restrictions/tags/t', '/keys/{id}/restrictions/tags/{tag}', undefined],
    ['PUT /users/operator/tags/t', '/users/{user}/tags/{tag}', undefined],
  ] as const) {
    assert.equal(await rig.status(...splitLine(line), { as: 'admin', json }), 204)
    assert.equal(await rig.status(...splitLine(line), { as: 'admin', json }), 304)
    const { description, content } = paths[path].put.responses['304']
    assert.ok(description.length > 0 && content === undefined, path)
  }
})

test('who is refused is told which role may', async (t) => {
  const rig = await operationalRig(t)
  await rig.user('team~chief', 'Administrator')
  await rig.user('team~hand', 'Operator')
  assert.equal(await rig.status('PUT', '/namespaces/team', { as: 'admin' }), 204)
  await rig.key('k')
  for (const [line, as, who] of [
    ['POST /keys/k/sign', 'admin', /role Operator may/],
    ['GET /keys', 'metrics', /role Administrator or Operator may/],
    ['GET /metrics', 'admin', /role Metrics may/],
    ['POST /system/backup', 'admin', /role Backup outside any namespace may/],
    ['GET /config/network', 'operator', /role Administrator outside any namespace may/],
    ['GET /config/network', 'team~chief', /role Administrator outside any namespace may/],
    ['GET /users/admin', 'operator', /role Administrator may/],
    ['DELETE /users/team~hand', 'admin', /role Administrator in the user's namespace may/],
  ] as const) {
    const { status, json } = await rig.call(...splitLine(line), { as })
    assert.equal(status, 403, line)
    assert.match(json().message, who)
  }
})
