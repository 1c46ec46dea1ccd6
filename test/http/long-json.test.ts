/** Bodies of key use: whatever pieces they come in, what is read is what JSON.parse and the base64 decoder would have read. */

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { readBase64 } from '../../firmware/base/base64.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { parseJson } from '../../firmware/base/json.ts'
import { createLongJsonReader, type LongJson } from '../../firmware/http/request/long-json.ts'

const NAMES = ['mode', 'message', 'iv']
const MIB = 1024 * 1024

type Read = { fields: Record<string, unknown>; bytes: string | null } | 'invalid'

function read(pieces: readonly Uint8Array[]): Read {
  const reader = createLongJsonReader(NAMES, 'message')
  try {
    for (const piece of pieces) reader.take(piece)
    const { fields, bytes }: LongJson = reader.end()
    return { fields, bytes: typeof fields.message === 'string' ? bytes && Buffer.from(bytes).toString('hex') : '' }
  } catch (error) {
    assert.ok(error instanceof CofferError && error.code === 'invalid', String(error))
    return 'invalid'
  }
}

/** All at once. Members are repeated in it only with values that could stand: others are refused without waiting for more. */
function expected(body: Uint8Array): Read {
  let value: Record<string, unknown>
  try {
    value = parseJson(body) as Record<string, unknown>
  } catch {
    return 'invalid'
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'invalid'
  if (
    Object.entries(value).some(([name, item]) => !NAMES.includes(name) || !(item === null || typeof item === 'string'))
  )
    return 'invalid'
  const { message } = value
  if (typeof message !== 'string') return { fields: value, bytes: '' }
  const bytes = readBase64(message.replaceAll('\n', ''))
  return { fields: { ...value, message: '' }, bytes: bytes && Buffer.from(bytes).toString('hex') }
}

function cut(body: Uint8Array, places: readonly number[]): Uint8Array[] {
  const ends = [...places.map((place) => place % (body.length + 1)), body.length].sort((a, b) => a - b)
  return ends.map((end, n) => Buffer.from(body.subarray(n === 0 ? 0 : ends[n - 1], end)))
}

const everyByte = (body: Uint8Array) => Array.from(body, (byte) => Uint8Array.of(byte))

const written = [
  '{"mode":"EdDSA","message":"AAAA"}',
  ' \t\r\n{ "message" : "QUJD" ,\n"iv":null , "mode" : "x" } \n',
  '{}',
  '{"message":""}',
  '{"message":"QQ==","mode":"a\\u0062\\"\\\\\\/\\n"}',
  '{"m\\u0065ssage":"QU\\/D","mode":"ü"}',
  '{"message":"QU\\nJD\\n","message":"QUJDRA=="}',
  '{"message":"***","message":"QUJD"}',
  '{"message":"QUJD","message":"*"}',
  '{"message":"QUJD","message":null}',
  '{"message":"\\u0051\\u0051\\u003d\\u003D"}',
  ...[
    'Q',
    'QQ',
    'QQQ',
    'QQ=',
    'Q===',
    '====',
    '=',
    'QQ==QQ==',
    'QQ==\\n',
    'Q\\nQ=\\n=',
    'QR==',
    'QQ=Q',
    '____',
    'Q Q=',
  ].map((text) => `{"message":"${text}"}`),
  ...[
    '',
    ' ',
    '[]',
    'null',
    '"x"',
    '1',
    '{',
    '{"',
    '{"mode',
    '{"mode"',
    '{"mode":',
    '{"mode":"',
    '{"mode":"x"',
    '{"mode":"x",',
  ],
  ...[
    '{"mode":"x",}',
    '{,}',
    '{"mode" "x"}',
    '{"mode"::"x"}',
    '{"mode":"x"}}',
    '{"mode":"x"}x',
    '{"mode":"x"} ,',
    '{mode:"x"}',
  ],
  ...[
    '{"mode":1}',
    '{"mode":true}',
    '{"mode":[]}',
    '{"mode":{}}',
    '{"other":"x"}',
    '{"__proto__":"x"}',
    "{'mode':'x'}",
  ],
  ...['{"iv":nul}', '{"iv":nulll}', '{"iv":null', '{"iv":NULL}', '{"message":n}', '{"message":1}', '{"message":["A"]}'],
  ...[
    '{"message":"A\\x41AA"}',
    '{"message":"\\u00"}',
    '{"message":"\\u00zz"}',
    '{"message":"\\',
    '{"message":"\nAAAA"}',
  ],
  ...['{"mode":"\n"}', '{"mode":"\\x"}', '\ufeff{}', '/**/{}', '{"mode":"\\ud800"}', '{"message":"\\ud800"}'],
].map((text) => Buffer.from(text))
written.push(Buffer.from('{"mode":"\xff"}', 'latin1'), Buffer.from('{"m\xff":""}', 'latin1'))

test('written bodies are read as JSON.parse reads them, in one piece and byte by byte', () => {
  for (const body of written) {
    const text = body.toString()
    assert.deepEqual(read([Buffer.from(body)]), expected(body), text)
    assert.deepEqual(read(everyByte(body)), expected(body), text)
  }
})

test('any body is read as JSON.parse reads it, in any pieces', () => {
  const space = fc.constantFrom('', ' ', '\n', '\t \r')
  const base64 = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    fc.string({
      unit: fc.constantFrom('A', 'z', '/', '+', '=', '\\n', '\\/', '\\u0041', '\\u003d', '*', '-'),
      maxLength: 12,
    }),
  )
  const value = fc.oneof(
    base64.map((text) => `"${text}"`),
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('null', '""'),
  )
  const name = fc.constantFrom('"mode"', '"message"', '"message"', '"iv"', '"m\\u006fde"', '"x"', 'mode')
  const member = fc
    .tuple(space, name, space, fc.constantFrom(':', ':', ':', ''), space, value, space)
    .map((parts) => parts.join(''))
  const object = fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`)
  const edited = fc.tuple(fc.constantFrom(...written), fc.nat(), fc.nat(255)).map(([body, at, byte]) => {
    const copy = Buffer.from(body)
    if (copy.length > 0 && byte < 0x80) copy[at % copy.length] = byte
    return copy
  })
  const body = fc.oneof(
    object.map((text) => Buffer.from(text)),
    edited,
  )
  fc.assert(
    fc.property(body, fc.array(fc.nat(), { maxLength: 6 }), (bytes, places) => {
      assert.deepEqual(read(cut(bytes, places)), expected(bytes))
    }),
    { numRuns: 3000 },
  )
})

test('a long member is decoded whole, however large', () => {
  const bytes = Buffer.from(Uint8Array.from({ length: 3 * MIB + 1 }, (_, n) => n * 31))
  const body = Buffer.from(`{"mode":"EdDSA","message":"${bytes.toString('base64')}"}`)
  const pieces = cut(
    body,
    Array.from({ length: 70 }, (_, n) => n * 65_521),
  )
  assert.deepEqual(read(pieces), { fields: { mode: 'EdDSA', message: '' }, bytes: bytes.toString('hex') })
})

/** 70 MB of each would end the firmware, or stop it, if they were parsed; none is looked at beyond its beginning. */
const HOSTILE: Record<string, [begin: string, more: string]> = {
  'deep lists': ['[', '['],
  'deep lists in a member': ['{"message":', '['],
  'deep objects': ['{"mode":', '{"mode":'],
  'a long name': ['{"', 'x'],
  'a long name with escapes': ['{"', '\\u0078'],
  'many members': ['{', '"mode":"x",'],
  'many empty members': ['{', '"":"",'],
  'many long members': ['{', '"message":"",'],
  'a long mode': ['{"mode":"', 'x'],
  'a number': ['{"mode":', '1'],
}

test('what no body of key use can have is refused where it begins', () => {
  for (const [name, [begin, more]] of Object.entries(HOSTILE)) {
    const reader = createLongJsonReader(NAMES, 'message')
    assert.throws(() => reader.take(Buffer.from(begin + more.repeat(1000))), { code: 'invalid' }, name)
  }
})

test('a body that is only long costs no more than its bytes', () => {
  const piece = (text: string) => Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
  for (const text of ['\\u0041', '\\/', 'A\\n', '*', ' ', 'AAAA\\nAA']) {
    const reader = createLongJsonReader(NAMES, 'message')
    reader.take(Buffer.from(text === ' ' ? '{' : '{"message":"'))
    const more = piece(text)
    const before = process.memoryUsage()
    for (let n = 0; n < 40; n++) reader.take(Buffer.from(more))
    const after = process.memoryUsage()
    const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
    assert.ok(grown < 16 * MIB, `${text}: ${grown} bytes`)
    reader.wipe()
  }
})

test('a body that was found to be bad at its end can be wiped once more', () => {
  for (const message of ['p0fHr--AE=', 'AAAA'.repeat(5000), '-']) {
    const reader = createLongJsonReader(NAMES, 'message')
    reader.take(Buffer.from(JSON.stringify({ mode: 'none', message })))
    reader.end()
    reader.wipe()
    reader.wipe()
  }
})
