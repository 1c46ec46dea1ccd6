/** `coffer audit verify --collected`: the file of a log server, and what somebody may have done to it. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { verifyExport } from '../../firmware/client/audit-verify.ts'
import { collectLines } from '../../tools/coffer/collected-lines.ts'
import { createAuditRig, exportTexts, keepLines, recordLines } from '../audit/rig.ts'

/** All lines of a log that has overwritten its older ones since, with heads among them, as a server got them. */
async function receivedTexts(t: TestContext): Promise<string[]> {
  const { log } = createAuditRig(t)
  keepLines(log, 20)
  const texts: string[] = []
  for (let n = 0; n < 5; n++) {
    recordLines(log, 10, 1 + 10 * n)
    log.flush()
    const exported = await exportTexts(log)
    texts.push(...exported.slice(-11))
  }
  return texts
}

async function verdictOf(t: TestContext, texts: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-collected-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'received')
  writeFileSync(file, `${texts.join('\n')}\n`)
  return verifyExport(await collectLines(file), { isCollected: true })
}

const problemsOf = async (t: TestContext, texts: readonly string[]) => (await verdictOf(t, texts)).problems

test('lines in any order, repeated, and with other text around are complete', async (t) => {
  const texts = await receivedTexts(t)
  const { problems, lines, head } = await verdictOf(t, texts)
  assert.deepEqual(problems, [])
  assert.deepEqual([lines, head!.first, head!.sequence], [50, 31, 50])
  const mixed = [
    ...texts.slice(20, 40),
    'Nov 29 00:00:00 host something else: {"level": 1}',
    ...texts.toReversed().map((text) => `2030-01-02T03:04:05Z host coffer audit: ${text}`),
    'Größe {"from":3,"to":4}',
    ...texts,
  ]
  assert.deepEqual(await problemsOf(t, mixed), [])
})

test('a server that got the log from a later line on has all of that', async (t) => {
  const texts = await receivedTexts(t)
  assert.deepEqual(await problemsOf(t, texts.slice(25)), [])
})

test('lines behind the newest head are left out, and an end that is missing is not signed', async (t) => {
  const texts = await receivedTexts(t)
  const { problems, lines } = await verdictOf(t, texts.slice(0, -1))
  assert.deepEqual(problems, [])
  assert.equal(lines, 40)
  assert.deepEqual(
    await problemsOf(
      t,
      texts.filter((text) => !text.startsWith('{"head"')),
    ),
    ['The end is missing: the file has no head.'],
  )
})

test('a line that is missing, changed or made up is found', async (t) => {
  const texts = await receivedTexts(t)
  const at = texts.findIndex((text) => text.startsWith('{"sequence":7,'))
  const changed = texts[at]!.replace('"key":"key-7"', '"key":"key-8"')
  assert.deepEqual(await problemsOf(t, texts.toSpliced(at, 1)), ['Missing: line 7.'])
  assert.match((await problemsOf(t, texts.with(at, changed))).join(), /Line 7 was changed/)
})
