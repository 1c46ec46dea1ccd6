/**
 * A client that refuses what it does not know, as some published ones do: every JSON answer is decoded by the models of the
 * published SDK and nothing beyond them is let pass. Contract section 5, row 23.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { setBackupPassphrase } from '../backup/rig.ts'
import { splitLine } from '../support/client.ts'
import { type Call, openRig, operationalRig, type Rig } from '../support/in-process.ts'
import { needsPython, PYTHON } from '../support/tools.ts'

const program = join(import.meta.dirname, 'strict.py')

interface Recorded {
  method: string
  path: string
  status: number
  body: unknown
}

const AES = { id: 'aes', type: 'Generic', length: 128, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] }
const RSA = { id: 'rsa', type: 'RSA', length: 1024, mechanisms: ['RSA_Signature_PKCS1'], label: 'first' }
const IMPORT = { type: 'Curve25519', mechanisms: [], private: { data: Buffer.alloc(32, 7).toString('base64') } }
const BLOCK = Buffer.alloc(16).toString('base64')
const USER = { realName: 'somebody', role: 'Operator', passphrase: 'passphrase of somebody' }
const NETWORK = { ipAddress: '192.0.2.1', netmask: '255.255.255.0', ipv6: { cidr: '2001:db8::2/64', gateway: null } }

/** Calls whose answers are decoded, in an order in which each finds what it needs; `{...}` is a parameter of the path. */
const CALLS: readonly [line: string, call?: Call][] = [
  ['GET /info'],
  ['GET /health/state'],
  ['GET /health/diagnose'],
  ['GET /metrics', { as: 'metrics' }],
  ['POST /random', { as: 'operator', json: { length: 4 } }],
  ['POST /keys/generate', { json: { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] } }],
  ['POST /keys', { json: IMPORT }],
  ['GET /keys'],
  ['GET /keys/{r}*'],
  ['GET /keys/{rsa}'],
  ['GET /keys/{aes}'],
  ['GET /keys/{tagged}'],
  ['POST /keys/{rsa}/sign', { as: 'operator', json: { mode: 'PKCS1', message: BLOCK } }],
  ['POST /keys/{aes}/encrypt', { as: 'operator', json: { mode: 'AES_CBC', message: BLOCK } }],
  ['POST /keys/{aes}/decrypt', { as: 'operator', json: { mode: 'AES_CBC', encrypted: BLOCK, iv: BLOCK } }],
  ['POST /keys/{tagged}/move', { json: { newId: 'moved' } }],
  ['GET /namespaces'],
  ['GET /users'],
  ['POST /users', { json: USER }],
  ['POST /users/{other~}', { json: USER }],
  ['GET /users/{operator}'],
  ['GET /users/{operator}/tags'],
  ['GET /config/unattended-boot'],
  ['GET /config/network'],
  ['GET /config/logging'],
  ['GET /config/ntp'],
  ['GET /config/time'],
  ['GET /system/info'],
  ['GET /cluster/members'],
]

/** One node refuses every other member, and the answer to an update needs one that is signed: test/release has it. */
const ELSEWHERE = ['POST /cluster/members', 'POST /system/update']

async function fillStore(rig: Rig): Promise<void> {
  const set = async (line: string, json: object) =>
    assert.equal(await rig.status(...splitLine(line), { as: 'admin', json }), 204, line)
  await set('PUT /config/network', NETWORK)
  await set('PUT /config/ntp', { ntpIP: '192.0.2.7', ntsName: 'time.example' })
  await setBackupPassphrase(rig)
  await rig.key('aes', AES)
  await rig.key('rsa', RSA)
  await rig.key('tagged', { restrictions: { tags: ['berlin'] } })
  assert.equal(await rig.status('PUT', '/namespaces/team', { as: 'admin' }), 204)
  assert.equal(await rig.status('PUT', '/users/operator/tags/berlin', { as: 'admin' }), 204)
}

async function record(rig: Rig, calls: typeof CALLS): Promise<Recorded[]> {
  const recorded: Recorded[] = []
  for (const [line, call] of calls) {
    const { status, headers, json, text } = await rig.call(...splitLine(line.replace(/[{}]/g, '')), {
      as: 'admin',
      ...call,
    })
    assert.ok(status < 300, `${line}: ${status} ${text()}`)
    const [method = '', path = ''] = line.replace(/{[^}]*}/g, '{}').split(' ')
    recorded.push({ method, path, status, body: headers['content-type'] === 'application/json' ? json() : undefined })
  }
  return recorded
}

const decode = (recorded: Recorded[]): string[] =>
  execFileSync(PYTHON, [program], {
    input: JSON.stringify(recorded),
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })
    .trim()
    .split('\n')

test('with `reference`, every answer has the members of the reference and no others', needsPython(), async (t) => {
  const fresh = await record(await openRig(t), [['GET /health/state', { as: undefined }]])
  const rig = await operationalRig(t)
  await fillStore(rig)
  assert.equal(await rig.status('PUT', '/config/vocabulary', { as: 'admin', json: { members: 'reference' } }), 204)
  const recorded = [...fresh, ...(await record(rig, CALLS))]
  assert.deepEqual(decode(recorded), [String(recorded.length), ...ELSEWHERE])
})

test('the decoder notices what it is there for: with `both`, keys have members more', needsPython(), async (t) => {
  const rig = await operationalRig(t)
  await rig.key('rsa', RSA)
  for (const [line, member] of [
    ['GET /keys', 'key'],
    ['GET /keys/{rsa}', 'algorithm'],
  ] as const) {
    const recorded = await record(rig, [[line]])
    assert.throws(() => decode(recorded), new RegExp(`a member that no reference knows: ${member}`))
  }
})
