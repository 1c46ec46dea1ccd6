/** `coffer audit verify --collected` where a file has texts of strangers that look like lines, and where it begins late. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { hashLine, headKey, signHead } from '../../firmware/audit/chain.ts'
import type { AuditHead, AuditLine } from '../../firmware/client/audit-lines.ts'
import { verifyExport } from '../../firmware/client/audit-verify.ts'
import { collectLines } from '../../tools/coffer/collected-lines.ts'
import { createAuditRig, event, exportTexts, recordLines } from '../audit/rig.ts'

async function verdictOf(t: TestContext, texts: readonly string[], key?: string) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-collected-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'received')
  writeFileSync(file, `${texts.join('\n')}\n`)
  return verifyExport(await collectLines(file, key), { isCollected: true, ...(key !== undefined && { key }) })
}

async function receivedTexts(t: TestContext): Promise<string[]> {
  const { log } = createAuditRig(t)
  void log.record(event({ action: 'PUT /config/syslog' }), 'change')
  recordLines(log, 10)
  return exportTexts(log)
}

const lineOf = (text: string): AuditLine => JSON.parse(text) as AuditLine
const headOf = (text: string): AuditHead => (JSON.parse(text) as { head: AuditHead }).head
const access = (path: string): string => `2030-01-02T03:04:05Z host access [1] 192.0.2.9 GET /${path}`

/** The same line with another key, and the hash that belongs to it. */
function remade(text: string): string {
  const { previous, previousOfKind = '', hash: _, ...rest } = { ...lineOf(text), key: 'made-up' }
  return JSON.stringify({
    ...rest,
    previous,
    previousOfKind,
    hash: hashLine(previous, previousOfKind, JSON.stringify(rest)),
  })
}

test('a text that only begins like a line or a head is none', async (t) => {
  const texts = await receivedTexts(t)
  const forged = [
    '{"sequence":1,"x":{}}',
    '{"sequence":99999,"x":{}}',
    '{"head":{"first":1,"sequence":5,"x":1}}',
    '{"head":{}}',
  ]
  const { problems, lines } = await verdictOf(t, [...forged.map(access), ...texts, ...forged.map(access)])
  assert.deepEqual(problems, [])
  assert.equal(lines, 11)
})

test('a line of another hash, or of a right one that no other line follows, is left out where the right one is', async (t) => {
  const texts = await receivedTexts(t)
  const wrong = texts[5]!.replace('"key":"key-', '"key":"made-up-')
  const right = [texts[4]!, texts[5]!, texts[6]!, texts[10]!].map(remade)
  const { problems, lines } = await verdictOf(t, [access(wrong), ...right.map(access), ...texts])
  assert.deepEqual(problems, [])
  assert.equal(lines, 11)
  // Alone they are found.
  for (const made of [wrong, right[1]!]) assert.notDeepEqual((await verdictOf(t, texts.with(5, made))).problems, [])
})

test('a head with a wrong signature, or of another key than the given one, is left out where the right one is', async (t) => {
  const texts = await receivedTexts(t)
  const head = headOf(texts.at(-1)!)
  const broken = JSON.stringify({ head: { ...head, signature: '00'.repeat(64) } })
  assert.deepEqual((await verdictOf(t, [access(broken), ...texts])).problems, [])
  const { key: _, signature: __, ...unsigned } = head
  const own = JSON.stringify({
    head: signHead({ ...unsigned, hash: 'ab'.repeat(32) }, headKey(new Uint8Array(32).fill(7))),
  })
  assert.deepEqual((await verdictOf(t, [access(own), ...texts], head.key)).problems, [])
  assert.match((await verdictOf(t, [...texts.slice(0, -1), broken])).problems.join(), /signature of the head is wrong/)
})

test('a file that begins behind lines that the appliance keeps is complete, with a note', async (t) => {
  const texts = await receivedTexts(t)
  const { problems, notes, lines } = await verdictOf(t, texts.slice(4))
  assert.deepEqual(problems, [])
  assert.deepEqual(notes, ['The file begins at line 5, the appliance kept lines from 1 on: these may be elsewhere.'])
  assert.equal(lines, 7)
  assert.deepEqual((await verdictOf(t, texts.slice(4).toSpliced(3, 1))).problems, ['Missing: line 8.'])
})
