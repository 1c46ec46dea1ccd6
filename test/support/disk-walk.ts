/** Fills the disk of an appliance by each means that users below root have, and checks what must go on meanwhile. */

import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { ask, type ChatAnswer, keyOf, OWNER, OWNER_PASSWORD } from '../chat/support/process.ts'
import { ADMIN, type Client, expect, UNLOCK_PASSPHRASE } from './appliance.ts'

const OPERATOR = 'signer:passphrase of the signer'
const CHIEF = 'team~chief:passphrase of the chief'
const GUEST = 'guest@example.org'
const GUEST_PASSWORD = 'a password of a guest'
const FILE = { name: 'file.txt', content: 'x'.repeat(2 * 1024 * 1024) }
const WRITES_MAX = 20_000 // far more than a small disk has room for
const DEADLINE_MS = 600_000 // a machine may be emulated

const key = (id: string) => ({ id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] })
const passphraseOf = (user: string) => user.slice(user.indexOf(':') + 1)

/** The appliance is provisioned and has no chat. At the end it has no chat again. `reach`: the port here that leads to one of the appliance. */
export async function walkFullDisk(client: Client, reach = (port: number): number => port): Promise<void> {
  const call: Client['call'] = (method, path, more = {}) => client.call(method, path, { as: ADMIN, ...more })
  const make = (id: string, as = ADMIN) => call('POST', '/keys/generate', { as, json: key(id) })
  const sign = async () => {
    const json = { mode: 'EdDSA', message: 'AAAA' }
    return (await expect(200, call('POST', '/keys/web/sign', { as: OPERATOR, json }))).json<{ signature: string }>()
      .signature
  }
  const addUser = (user: string, role: string) =>
    expect(
      201,
      call('PUT', `/users/${user.slice(0, user.indexOf(':'))}`, {
        json: { realName: role, role, passphrase: passphraseOf(user) },
      }),
    )

  await expect(201, make('web'))
  await addUser(OPERATOR, 'Operator')
  await addUser(CHIEF, 'Administrator')
  await expect(204, call('PUT', '/namespaces/team'))
  await expect(201, make('theirs', CHIEF))
  const signature = await sign()
  const { port, owner, guest } = await makeChat(call, reach)
  await expect(204, call('PUT', '/chat/settings', { json: { uploadQuotaMib: 1_000_000 } }))

  // Each writer until it is refused. What was answered is there, and signatures go on.
  const files = await until(isRefused, () => ask(port, 'POST', '/user_uploads', { as: guest, file: FILE }))
  const { attachments } = (await ask(port, 'GET', '/attachments', { as: guest })).body
  assert.equal(attachments.length, files.length)
  assert.ok(files.length > 2)
  assert.equal(await sign(), signature)

  const message = { type: 'direct', to: '[]', content: 'x'.repeat(10_000) }
  const to = JSON.stringify([await idOf(port, guest)])
  const send = () => ask(port, 'POST', '/messages', { as: guest, form: { ...message, to } })
  // Files take their space twice until SQLite has moved them out of its log: within a second, on a busy computer later.
  // Until then each message may be the last one, so the first belongs to those that are counted.
  const messages = [await eventually(200, send), ...(await until(isRefused, send))]
  for (const { body } of [messages[0]!, messages.at(-1)!])
    assert.equal((await ask(port, 'GET', `/messages/${body.id}`, { as: guest })).status, 200)
  assert.equal(await sign(), signature)

  const theirs = await until(is507, (n) => make(`theirs-${n}`, CHIEF))
  const keys = await until(is507, (n) => make(`key-${n}`))
  for (const [count, prefix, as] of [
    [theirs.length, 'theirs-', CHIEF],
    [keys.length, 'key-', ADMIN],
  ] as const)
    if (count > 0) await expect(200, call('GET', `/keys/${prefix}${count - 1}`, { as }))

  // What must go on goes on.
  for (let n = 0; n < 50; n++) assert.equal(await sign(), signature)
  assert.equal((await expect(200, call('GET', '/health/ready'))).headers['coffer-disk'], 'low')
  await expect(204, call('PUT', '/config/vocabulary', { json: { members: 'both' } }))
  await expect(204, call('PUT', '/chat/settings', { json: { uploadQuotaMib: null } }))
  assert.equal((await ask(port, 'DELETE', `/attachments/${attachments[0].id}`, { as: guest })).status, 200)
  assert.equal((await ask(port, 'DELETE', `/users/${await idOf(port, guest)}`, { as: owner })).status, 200)
  if (theirs.length > 0) await expect(204, call('DELETE', '/keys/theirs-0', { as: CHIEF }))
  await expect(204, call('DELETE', '/namespaces/team'))
  await expect(204, call('POST', '/lock'))
  await expect(204, client.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  assert.equal(await sign(), signature)

  // Deletion frees room.
  await eventually(204, () => call('DELETE', '/chat/organization', { json: { name: 'Example' } }))
  await eventually(201, () => make('afterwards'))
  await eventually('ok', async () => (await call('GET', '/health/ready')).headers['coffer-disk'])
  assert.equal(await sign(), signature)
}

async function makeChat(call: Client['call'], reach: (port: number) => number) {
  const account = { email: OWNER, fullName: 'Olivia Owner', password: OWNER_PASSWORD }
  // A computer that is emulated and busy may not have started the chat in time, and says so.
  await eventually(201, () => call('PUT', '/chat/organization', { json: { name: 'Example', owner: account } }))
  await eventually('running', async () => (await call('GET', '/chat')).json<{ state: string }>().state)
  const port = reach((await call('GET', '/chat')).json<{ port: number }>().port)
  const owner = await keyOf(port)
  const form = { email: GUEST, full_name: 'Guest', password: GUEST_PASSWORD }
  const made = await ask(port, 'POST', '/users', { as: owner, form })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const role = await ask(port, 'PATCH', `/users/${made.body.user_id}`, { as: owner, form: { role: '600' } })
  assert.equal(role.status, 200, JSON.stringify(role.body))
  return { port, owner, guest: await keyOf(port, GUEST, GUEST_PASSWORD) }
}

const idOf = async (port: number, as: { email: string; key: string }): Promise<number> =>
  (await ask(port, 'GET', '/users/me', { as })).body.user_id

const is507 = ({ status }: { status: number }): boolean => status === 507

function isRefused({ status, body }: ChatAnswer): boolean {
  if (status === 200) return false
  assert.deepEqual([status, body.code], [400, 'BAD_REQUEST'], JSON.stringify(body))
  assert.match(body.msg, /^The disk is full/)
  return true
}

/** Calls until one is refused; the answers before. Waits where calls are limited. */
async function until<T extends { status: number; headers: Record<string, unknown> }>(
  refused: (answer: T) => boolean,
  call: (n: number) => Promise<T>,
): Promise<T[]> {
  const answers: T[] = []
  while (answers.length < WRITES_MAX) {
    const answer = await call(answers.length)
    if (answer.status === 429) await wait(1000 * Number(answer.headers['retry-after']))
    else if (refused(answer)) return answers
    else {
      assert.ok(answer.status < 300, `${answer.status}`)
      answers.push(answer)
    }
  }
  assert.fail('nothing stops it')
}

async function eventually<T>(wanted: unknown, act: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + DEADLINE_MS
  for (;;) {
    const result = await act()
    const found = typeof result === 'object' && result !== null && 'status' in result ? result.status : result
    if (found === wanted) return result
    assert.ok(performance.now() < deadlineMs, `${String(found)} in the place of ${String(wanted)}`)
    await wait(200)
  }
}
