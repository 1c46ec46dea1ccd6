/** The offline verifier reads bytes: an export that means the same in other bytes was changed. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { verifyExport } from '../../firmware/client/audit-verify.ts'
import { createAuditRig, exportTexts, recordLines } from './rig.ts'

const COUNT = 4

async function sample(t: TestContext): Promise<string[]> {
  const { log } = createAuditRig(t)
  recordLines(log, COUNT)
  return exportTexts(log)
}

const problemsIn = async (bytes: Uint8Array, size = bytes.length): Promise<string[]> => {
  const chunks = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size)
  }
  return (await verifyExport(chunks())).problems
}
const problemsOf = (texts: readonly string[]) => problemsIn(Buffer.from(texts.map((text) => `${text}\n`).join('')))

const twice = (member: string) => (text: string) => text.replace('{', `{${member},`)

const LINE_CHANGES: Record<string, (text: string) => string> = {
  'another user before the one that was hashed': twice('"user":"somebody"'),
  'another result before the one that was hashed': twice('"result":403'),
  'another hash before the right one': twice(`"hash":"${'0'.repeat(64)}"`),
  'a number before the right one': twice('"sequence":9'),
  'a member spelled with an escape': (text) => text.replace('"user"', '"\\u0075ser"'),
  'a value spelled with an escape': (text) => text.replace('"operator"', '"\\u006fperator"'),
  'a number in another form': (text) => text.replace('"result":200', '"result":2e2'),
  'a space': (text) => text.replace(',', ', '),
  'a space at the end': (text) => `${text} `,
  CRLF: (text) => `${text}\r`,
  'members in another order': (text) => {
    const { hash, ...rest } = JSON.parse(text)
    return JSON.stringify({ hash, ...rest })
  },
}

test('an export as it is holds, however its bytes are cut', async (t) => {
  const bytes = Buffer.from((await sample(t)).map((text) => `${text}\n`).join(''))
  for (const size of [1, 7, 100, bytes.length]) assert.deepEqual(await problemsIn(bytes, size), [])
})

for (const [name, change] of Object.entries(LINE_CHANGES)) {
  test(`finds a line with ${name}`, async (t) => {
    const texts = await sample(t)
    const changed = change(texts[1]!)
    assert.notEqual(changed, texts[1])
    const found = await problemsOf(texts.with(1, changed))
    assert.ok(found.length > 0)
    if (!name.includes('number before')) assert.match(found[0]!, /^Line 2 was changed/)
  })
}

const HEAD_CHANGES: Record<string, (text: string) => string> = {
  'a member twice': (text) => text.replace('{"head":{', '{"head":{"time":"2001-01-01T00:00:00Z",'),
  'a head before it': (text) => text.replace('{', '{"head":{},'),
  'a member that is not signed': (text) => text.replace('}}', ',"note":"x"}}'),
  'a member beside it': (text) => text.replace(/\}$/, ',"note":"x"}'),
  'a number as text': (text) => text.replace('"head":{"first":1', '"head":{"first":"1"'),
  'a key in capitals': (text) => text.replace(/"key":"([0-9a-f]+)"/, (_, key) => `"key":"${key.toUpperCase()}"`),
  'a space': (text) => text.replace(':', ': '),
  'a mark at its start': (text) => `\ufeff${text}`,
}

for (const [name, change] of Object.entries(HEAD_CHANGES)) {
  test(`finds a head with ${name}`, async (t) => {
    const texts = await sample(t)
    const changed = change(texts.at(-1)!)
    assert.notEqual(changed, texts.at(-1))
    assert.ok((await problemsOf(texts.with(-1, changed))).length > 0)
  })
}

test('finds any bit that was changed', async (t) => {
  const bytes = Buffer.from((await sample(t)).map((text) => `${text}\n`).join(''))
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1 << (at % 8)
    assert.ok((await problemsIn(changed)).length > 0, `byte ${at}: ${changed.toString('latin1', at - 20, at + 20)}`)
  }
})

test('finds bytes that were added or taken away', async (t) => {
  const bytes = Buffer.from((await sample(t)).map((text) => `${text}\n`).join(''))
  assert.ok((await problemsIn(bytes.subarray(0, -1))).length > 0, 'the last line end')
  assert.ok((await problemsIn(Buffer.concat([bytes, Buffer.from('\n')]))).length > 0, 'an empty line')
  assert.ok((await problemsIn(Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]))).length > 0, 'a byte order mark')
  assert.ok((await problemsIn(Buffer.concat([bytes, Buffer.alloc(3 << 20, 'x')]), 65_536)).length > 0, 'a long line')
})
