/** The offline verifier: every way of forging an export is found and named. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  type AuditHead,
  type AuditLine,
  type AuditLineKind,
  hashLine,
  headKey,
  signHead,
} from '../../firmware/audit/chain.ts'
import { createAuditRig, exportTexts, recordLines, verify } from './rig.ts'

const COMMAND = fileURLToPath(new URL('../../tools/coffer/main.ts', import.meta.url))
const COUNT = 12

async function sample(t: TestContext): Promise<string[]> {
  const { log } = createAuditRig(t)
  recordLines(log, COUNT)
  return exportTexts(log)
}

const lineIn = (text: string): AuditLine => JSON.parse(text)
const headIn = (texts: readonly string[]): AuditHead => JSON.parse(texts.at(-1)!).head

/** As somebody would who can compute SHA-256: new hashes for every line. */
function rechain(texts: readonly string[]): string[] {
  let { previous } = lineIn(texts[0]!)
  const newest = new Map<AuditLineKind, string>()
  return texts.map((text) => {
    const { hash: _, previous: __, previousOfKind: first, ...rest } = lineIn(text)
    const previousOfKind = newest.get(rest.kind!) ?? first!
    const hash = hashLine(previous, previousOfKind, JSON.stringify(rest))
    const line = { ...rest, previous, previousOfKind, hash }
    previous = hash
    newest.set(rest.kind!, hash)
    return JSON.stringify(line)
  })
}

const change = (text: string): string => text.replace('"user":"operator"', '"user":"somebody"')

interface Forgery {
  name: string
  forge: (texts: string[]) => string[]
  problems: RegExp[]
}

const FORGERIES: Forgery[] = [
  { name: 'a changed line', forge: (x) => x.with(4, change(x[4]!)), problems: [/^Line 5 was changed/] },
  {
    name: 'a changed line with its new hash',
    forge: (x) => x.with(4, rechain([change(x[4]!)])[0]!),
    problems: [/^Line 6 does not follow line 5/],
  },
  {
    name: 'a changed line and a new chain behind it',
    forge: (x) => [...rechain([...x.slice(0, 4), change(x[4]!), ...x.slice(5, -1)]), x.at(-1)!],
    problems: [/^Line 12 is not the one that was signed/],
  },
  {
    name: 'a new chain and a new head under the old signature',
    forge: (x) => {
      const chain = rechain([change(x[0]!), ...x.slice(1, -1)])
      return [...chain, JSON.stringify({ head: { ...headIn(x), hash: lineIn(chain.at(-1)!).hash } })]
    },
    problems: [/^The signature of the head is wrong/],
  },
  { name: 'a line left out', forge: (x) => x.toSpliced(4, 1), problems: [/^Missing: line 5\.$/] },
  { name: 'lines left out', forge: (x) => x.toSpliced(4, 3), problems: [/^Missing: lines 5 to 7\.$/] },
  {
    name: 'a line left out and the rest renumbered in a new chain',
    forge: (x) => {
      const kept = x.toSpliced(4, 1).slice(0, -1)
      return [...rechain(kept.map((text, i) => text.replace(/"sequence":\d+/, `"sequence":${i + 1}`))), x.at(-1)!]
    },
    problems: [/^Missing at the end: lines 12 to 12/],
  },
  {
    name: 'two lines exchanged',
    forge: (x) => x.with(4, x[5]!).with(5, x[4]!),
    problems: [/^Line 5 is not in its place/],
  },
  {
    name: 'a line moved far back',
    forge: (x) => [...x.slice(0, 2), ...x.slice(3, -1), x[2]!, x.at(-1)!],
    problems: [/^Line 3 is not in its place: it comes after line 12/],
  },
  { name: 'a line twice', forge: (x) => x.toSpliced(4, 0, x[3]!), problems: [/^Line 4 is there twice/] },
  {
    name: 'a foreign line',
    forge: (x) => x.toSpliced(4, 0, '{"user":"x"}'),
    problems: [/^Line 5 of the file is no line/],
  },
  {
    name: 'half a line',
    forge: (x) => x.with(4, x[4]!.slice(0, 40)),
    problems: [/^Line 5 of the file/, /^Missing: line 5/],
  },
  {
    name: 'the oldest lines left out',
    forge: (x) => x.slice(3),
    problems: [/^Missing at the beginning: lines 1 to 3/],
  },
  {
    name: 'the newest lines left out',
    forge: (x) => [...x.slice(0, 9), x.at(-1)!],
    problems: [/^Missing at the end: lines 10 to 12/],
  },
  { name: 'no head', forge: (x) => x.slice(0, -1), problems: [/^The end is missing/] },
  { name: 'only the head', forge: (x) => x.slice(-1), problems: [/^Missing at the end: lines 1 to 12/] },
  { name: 'lines behind the head', forge: (x) => [...x, x[0]!], problems: [/behind the head/] },
  { name: 'nothing', forge: () => [], problems: [/^The end is missing/] },
  {
    name: 'a head with another time',
    forge: (x) => x.with(-1, x.at(-1)!.replace('2030-', '2031-')),
    problems: [/^The signature of the head is wrong/],
  },
]

test('an export as it is holds', async (t) => {
  const texts = await sample(t)
  const { problems, lines, head } = await verify(texts, { key: headIn(texts).key })
  assert.deepEqual(problems, [])
  assert.equal(lines, COUNT)
  assert.equal(head!.sequence, COUNT)
})

for (const { name, forge, problems } of FORGERIES) {
  test(`finds ${name}`, async (t) => {
    const found = (await verify(forge(await sample(t)))).problems
    assert.equal(found.length, problems.length, found.join(' '))
    for (const [index, problem] of problems.entries()) assert.match(found[index]!, problem)
  })
}

test('every member of every line is protected', async (t) => {
  const texts = await sample(t)
  for (const [place, text] of texts.slice(0, 3).entries()) {
    const line = lineIn(text) as unknown as Record<string, unknown>
    for (const [name, value] of Object.entries(line)) {
      const changed =
        typeof value === 'number' ? value + 100 : name.match(/hash|previous/) ? '1'.repeat(64) : `${value}x`
      const found = (await verify(texts.with(place, JSON.stringify({ ...line, [name]: changed })))).problems
      assert.ok(found.length > 0, name)
    }
    const more = JSON.stringify({ sequence: line.sequence, skipped: 1, ...line })
    assert.ok((await verify(texts.with(place, more))).problems.length > 0)
  }
})

test('a log written anew by somebody else shows by its key, and by lines noted before', async (t) => {
  const texts = await sample(t)
  const { key, hash } = headIn(texts)
  const chain = rechain([change(texts[0]!), ...texts.slice(1, -1)])
  const end = lineIn(chain.at(-1)!).hash
  const { key: _, signature: __, ...old } = headIn(texts)
  const statement = { ...old, hash: end, rings: { ...old.rings!, use: { ...old.rings!.use, hash: end } } }
  const forged = [...chain, JSON.stringify({ head: signHead(statement, headKey(new Uint8Array(32).fill(1))) })]
  assert.deepEqual((await verify(forged)).problems, [], 'by itself it holds')
  assert.match((await verify(forged, { key })).problems.join(), /another key/)
  assert.match(
    (await verify(forged, { known: new Map([[COUNT, hash]]) })).problems.join(),
    /not the one that was noted/,
  )
  assert.deepEqual((await verify(texts, { known: new Map([[COUNT, hash]]) })).problems, [])
  assert.match((await verify(texts, { known: new Map([[99, hash]]) })).problems.join(), /ends before it/)
})

test('the command tells by text and exit status, and needs no appliance', async (t) => {
  const rig = createAuditRig(t)
  recordLines(rig.log, COUNT)
  const texts = await exportTexts(rig.log)
  const file = join(rig.directory, 'audit.jsonl')
  const run = (content: string[], ...options: string[]) => {
    writeFileSync(file, content.map((text) => `${text}\n`).join(''))
    const line = [COMMAND, 'audit', 'verify', file, ...options]
    const env = { XDG_CONFIG_HOME: rig.directory } // without a profile
    const { status, stdout, stderr } = spawnSync(process.execPath, line, { env, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const { key, hash } = headIn(texts)
  const right = run(texts, '--key', key, '--known', `12:${hash}`)
  assert.equal(right.status, 0, right.stderr)
  assert.match(right.stdout, /^12 lines, 1 to 12: nothing changed, missing or reordered\.$/m)
  assert.doesNotMatch(right.stderr, /compare it/)
  assert.match(run(texts).stderr, /The key is the one in the file: compare it/)
  const wrong = run(texts.toSpliced(2, 1))
  assert.deepEqual([wrong.status, wrong.stdout], [1, ''])
  assert.match(wrong.stderr, /Missing: line 3\.\n$/)
  assert.equal(run(texts, '--key', 'x').status, 2)
  assert.equal(run(texts, '--known', 'x').status, 2)
  assert.equal(run(texts, '--wrong').status, 2)
})
