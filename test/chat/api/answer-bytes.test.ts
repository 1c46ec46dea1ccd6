/** How large answers are when what is in them multiplies, counted in bytes as they are written: contract sections 5.1 and 9. */

import assert from 'node:assert/strict'
import { before, describe, it, test } from 'node:test'
import { answerJson, takeFitting } from '../../../firmware/chat/pipeline/answer-json.ts'
import { chatSuite } from '../support/suite.ts'

const MESSAGES_BYTES_MAX = 8_000_000 // contract section 5.1
const PARTICIPANTS = 95
const MESSAGES = 1200

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

async function fetched(path: string, values: Record<string, string>) {
  const authorization = `Basic ${Buffer.from(`${hamlet.user.email}:${hamlet.key}`).toString('base64')}`
  const url = `http://chat.example/api/v1${path}?${new URLSearchParams(values)}`
  const response = await rig.chat.api.request(url, { headers: { authorization, host: 'chat.example' } })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return { status: response.status, bytes: bytes.length, body: JSON.parse(new TextDecoder().decode(bytes)) }
}

describe('messages of a conversation with many people', () => {
  let ids: number[]
  before(async () => {
    const people = Array.from({ length: PARTICIPANTS }, (_, index) => rig.account(`person-${index}-${'x'.repeat(40)}`))
    ids = []
    for (let i = 0; i < MESSAGES; i++)
      ids.push(
        (await hamlet.post('/messages', { type: 'direct', to: people.map(({ user }) => user.id), content: 'x' })).id,
      )
  })
  const idsOf = ({ messages }: { messages: { id: number }[] }) => messages.map(({ id }) => id)

  it('are a page whose bytes are counted with the participants of each', async () => {
    const { bytes, body } = await fetched('/messages', { anchor: 'newest', num_before: '5000', num_after: '0' })
    assert.ok(bytes <= MESSAGES_BYTES_MAX + 1000, `${bytes} bytes`)
    assert.ok(bytes > MESSAGES_BYTES_MAX * 0.9, `${bytes} bytes: no smaller than need be`)
    assert.equal(body.messages[0].display_recipient.length, PARTICIPANTS + 1)
    assert.deepEqual(idsOf(body), ids.slice(-body.messages.length))
    assert.deepEqual([body.found_oldest, body.found_newest], [false, true])
  })

  it('are halved on both sides of an anchor', async () => {
    const anchor = ids[MESSAGES / 2]!
    const { bytes, body } = await fetched('/messages', {
      anchor: String(anchor),
      num_before: '2000',
      num_after: '2000',
    })
    assert.ok(bytes <= MESSAGES_BYTES_MAX + 1000, `${bytes} bytes`)
    assert.deepEqual([body.found_oldest, body.found_newest, body.found_anchor], [false, false, true])
    const found = idsOf(body)
    assert.ok(found.some((id) => id < anchor) && found.some((id) => id > anchor))
  })

  it('are refused when they are asked for by id and do not fit', async () => {
    const { status, body } = await fetched('/messages', { message_ids: JSON.stringify(ids) })
    assert.equal(status, 400)
    assert.match(body.msg, /too long for one answer/)
    const few = await fetched('/messages', { message_ids: JSON.stringify(ids.slice(0, 50)) })
    assert.deepEqual(idsOf(few.body), ids.slice(0, 50))
  })

  it('pages lead through all of them', async () => {
    const seen: number[] = []
    for (let anchor = 'newest', isOver = false; !isOver; ) {
      const { body } = await fetched('/messages', {
        anchor,
        num_before: '5000',
        num_after: '0',
        include_anchor: 'false',
      })
      seen.unshift(...idsOf(body))
      anchor = String(seen[0])
      isOver = body.found_oldest
    }
    assert.deepEqual(seen.slice(-MESSAGES), ids)
  })
})

test('an answer is counted while it is written, and what is beyond is never read', () => {
  let made = 0
  const costly = () => ({
    toJSON() {
      made++
      return 'x'.repeat(998)
    },
  })
  const list = Array.from({ length: 1000 }, costly)
  assert.throws(() => answerJson({ list }, 10_000), /too large/)
  assert.ok(made <= 11, `${made}`)
  assert.equal(
    takeFitting(
      Array.from({ length: 50 }, () => 'x'.repeat(998)),
      10_010,
    ).texts.length,
    10,
  )
  assert.deepEqual(takeFitting(['longer than that'], 3), { texts: ['"longer than that"'], isComplete: true })
})

test('what is written is what JSON.stringify writes', () => {
  const answers = [
    {},
    {
      a: undefined,
      b: null,
      c: [],
      d: {},
      e: [undefined, 1, 'ü', { f: undefined }],
      g: { h: [1], i: undefined, j: 'x' },
    },
    { date: new Date(0), nested: { when: new Date(0) }, n: Number.NaN, f: () => 1, 'quo"te': { 'in"ner': '"' } },
  ]
  for (const answer of answers) {
    const { text, bytes } = answerJson(answer)
    assert.equal(text, JSON.stringify(answer))
    assert.equal(bytes, Buffer.byteLength(text))
  }
})
