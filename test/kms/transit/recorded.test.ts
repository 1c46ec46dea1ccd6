/** Every recorded question of OpenBao's transit API, asked of Coffer. CONTRACT.md of firmware/kms/transit. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rig } from '../../support/in-process.ts'
import { answers, Conversation, cases, differences, expectForm, type Recorded, skip } from './recorded.ts'
import { switchWire, wiredRig } from './rig.ts'

const conversationWith = (rig: Rig) =>
  new Conversation(async (method, path, options) => {
    rig.nowMs += 2000 // a wrong guess blocks for a second
    const { status, bytes } = await rig.call(method, `/${path}`, options)
    return { status, body: bytes.length === 0 ? null : JSON.parse(String(bytes)) }
  })

/** A listed difference that is none hides faults. */
function expectDifferent(answer: { status: number; body: unknown }, recorded: Recorded): void {
  if (answer.status === recorded.status)
    assert.throws(() => expectForm(answer.body, recorded.body), 'the answer is that of OpenBao: it is no difference')
}

test('answers as OpenBao, but for the listed differences', { skip }, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const conversation = conversationWith(rig)
  const [recorded, different] = [answers(), differences()]
  const wrong: string[] = []
  let asked = 0
  for (const question of cases()) {
    const { name, statusOnly } = question
    asked++
    const answer = await conversation.answer(question)
    const difference = different.get(name)
    const { status, body } = difference === undefined ? recorded.get(name)! : { ...recorded.get(name)!, ...difference }
    try {
      assert.equal(answer.status, status)
      if (difference?.errors !== undefined) assert.deepEqual(answer.body, { errors: difference.errors })
      else if (difference === undefined && !statusOnly) expectForm(answer.body, body)
      else if (difference !== undefined)
        expectForm(answer.body, { ...(recorded.get(name)!.body as object), warnings: null })
      if (difference !== undefined) expectDifferent(answer, recorded.get(name)!)
    } catch (error) {
      wrong.push(`${name}: ${(error as Error).message.slice(0, 300)} ${JSON.stringify(answer).slice(0, 300)}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.equal(asked, 245)
})

test('every listed difference is of a recorded question, and has its reason', { skip }, () => {
  const names = new Set(cases().map(({ name }) => name))
  assert.equal(answers().size, names.size)
  for (const { name, why } of differences().values()) assert.ok(names.has(name) && why.length > 10, name)
  assert.equal(differences().size, 31)
})

test('lists keys by every method that clients use, and 404 where there is none', { skip }, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const conversation = conversationWith(rig)
  const all = new Map(cases().map((question) => [question.name, question]))
  await conversation.answer(all.get('login: administrator')!)
  await conversation.answer(all.get('login: operator')!)
  const list = all.get('list')!
  assert.deepEqual(await conversation.answer(list), { status: 404, body: { errors: [] } })
  for (const name of ['create', 'create ed25519', 'create hmac', 'create rsa-2048'])
    assert.equal((await conversation.answer(all.get(name)!)).status, 200)
  for (const name of ['list', 'list by GET', 'list by GET, slash']) {
    const { status, body } = await conversation.answer(all.get(name)!)
    assert.equal(status, 200)
    assert.deepEqual((body as { data: object }).data, { keys: ['app', 'ed25519', 'hmac', 'rsa-2048'] })
  }
})

test('while it is off, every question gets the answer of an unknown path, byte for byte', { skip }, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  const { json } = await rig.call('GET', '/config/interfaces', { as: 'admin' })
  assert.deepEqual(json(), { transit: 'off', tokenHours: 24 })
  const answer = async (method: string, path: string, options: object) => {
    const { status, headers, text } = await rig.call(method, `/${path}`, options)
    return { status, headers: { ...headers, date: '' }, text: text() }
  }
  const asked = new Conversation(async (method, path, options) => {
    const mine = await answer(method, path, options)
    assert.deepEqual(mine, await answer(method, '/nowhere', options), `${method} ${path}`)
    assert.equal(mine.status, 404)
    return { status: mine.status, body: null }
  })
  for (const question of cases()) await asked.answer(question)
})
