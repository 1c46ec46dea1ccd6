/** Messages for a log server as bytes: RFC 5424, RFC 5425 section 4.3, contract section 7.6. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLine } from '../../firmware/audit/chain.ts'
import { createMessageWriter, createSequence } from '../../firmware/forwarding/messages.ts'
import { readMessages } from './support/rig.ts'

const HASH = 'ab'.repeat(32)

const line = (more: Partial<AuditLine> = {}): AuditLine => ({
  ...{ sequence: 7, kind: 'use', time: '2030-01-02T03:04:05Z', user: 'operator', address: '192.0.2.1' },
  ...{ action: 'POST /keys/{id}/sign', key: 'k', namespace: '', result: 200 },
  ...{ previous: HASH, previousOfKind: HASH, hash: HASH },
  ...more,
})

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

test('an audit line is the message as an export has it, with its length in bytes before it', () => {
  const writer = createMessageWriter('coffer.example.org', createSequence())
  writer.auditLine(line())
  const text = JSON.stringify(line())
  const message = `<110>1 2030-01-02T03:04:05Z coffer.example.org coffer - audit [meta sequenceId="1"] ${text}`
  assert.equal(textOf(writer.toBytes()), `${message.length} ${message}`)
  assert.equal(writer.bytes, writer.toBytes().length)
})

test('facility and severity tell kinds, heads, gaps and the system log apart', () => {
  const writer = createMessageWriter('h', createSequence())
  for (const kind of ['change', 'refusal', 'use'] as const) writer.auditLine(line({ kind }))
  const { kind: _, ...old } = line()
  writer.auditLine(old)
  writer.gap({ from: 8, to: 9 }, 0)
  writer.head({ first: 1, sequence: 7, hash: HASH, time: '2030-01-02T03:04:06Z', key: HASH, signature: HASH + HASH })
  for (const level of ['error', 'warning', 'info', 'debug'] as const)
    writer.entry({ level, source: 'access', message: 'm', timeMs: 0 })
  const messages = readMessages(writer.toBytes())
  assert.deepEqual(
    messages.map(({ priority, id }) => [priority, id]),
    [
      [109, 'audit'],
      [108, 'audit'],
      [110, 'audit'],
      [109, 'audit'],
      [108, 'gap'],
      [110, 'head'],
      [27, 'access'],
      [28, 'access'],
      [30, 'access'],
      [31, 'access'],
    ],
  )
  assert.deepEqual(
    messages.map(({ sequenceId }) => sequenceId),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  )
  assert.equal(messages[4]!.text, '{"from":8,"to":9}')
  assert.deepEqual(Object.keys(JSON.parse(messages[5]!.text)), ['head'])
})

test('lengths are of bytes, and a message is cut beyond 64 KiB, at a character', () => {
  const writer = createMessageWriter('h', createSequence())
  const texts = ['Öl 🔑', 'x'.repeat(65_536), 'x'.repeat(65_537), 'é'.repeat(40_000), '🔑'.repeat(20_000)]
  for (const message of texts) writer.entry({ level: 'info', source: 'general', message, timeMs: 0 })
  const [first, whole, cut, accents, keys] = readMessages(writer.toBytes()).map(({ text }) => text)
  assert.equal(first, texts[0])
  assert.equal(whole, texts[1])
  assert.equal(cut, `${'x'.repeat(65_533)}...`)
  assert.equal(accents, `${'é'.repeat(32_766)}...`)
  assert.equal(keys, `${'🔑'.repeat(16_383)}...`)
})

test('numbers of messages begin again after the greatest one', () => {
  const next = createSequence(2_147_483_645)
  assert.deepEqual([next(), next(), next()], [2_147_483_646, 2_147_483_647, 1])
})

test('a time behind the year 9999 has four digits for the year', () => {
  const writer = createMessageWriter('h', createSequence())
  writer.entry({ level: 'info', source: 'access', message: 'm', timeMs: Date.UTC(12_345, 0, 1) })
  assert.match(textOf(writer.toBytes()), /^\d+ <30>1 9999-12-31T23:59:59\.999Z h /)
})
