/** Request bodies: JSON, schemas, multipart, and the bounds on size, memory and time. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { z } from 'zod'
import { CofferError } from '../../firmware/base/error.ts'
import { matchSchema, parseJson } from '../../firmware/base/json.ts'
import { createBodyReader, wipeBody } from '../../firmware/http/request/body.ts'
import { ANY_TERMS, BODY_LIMITS } from '../../firmware/http/request/body-rate.ts'
import { parseMultipart, readParts } from '../../firmware/http/request/multipart.ts'
import {
  base64,
  id,
  integer,
  label,
  passphrase,
  readTimestamp,
  tags,
  timestamp,
} from '../../firmware/kms/api/schema.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

const withCode = (code: string) => (error: unknown) => error instanceof CofferError && error.code === code

const refusal = (schema: z.ZodType, value: unknown): string => {
  try {
    matchSchema(schema, value, 'body')
  } catch (error) {
    assert.ok(withCode('invalid')(error))
    return (error as CofferError).message
  }
  return 'accepted'
}

test('JSON is read as RFC 8259 has it and nothing more lenient', () => {
  const bad = [
    '',
    ' ',
    '{',
    '{}}}',
    '{} x',
    "{'a':1}",
    '{a:1}',
    '{"a":1,}',
    '[1,]',
    '// c\n1',
    '01',
    'NaN',
    '"\n"',
    ' \ufeff{}',
    '\ufeff\ufeff{}',
    '\ufeff',
    'undefined',
    '"\\x"',
  ]
  for (const text of bad) assert.throws(() => parseJson(utf8(text)), withCode('invalid'), JSON.stringify(text))
  assert.throws(() => parseJson(new Uint8Array([0x22, 0xff, 0x22])), /not UTF-8/)
  assert.throws(() => parseJson(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])), /not UTF-8/)
  assert.deepEqual(parseJson(utf8(' {"a":1,"a":2} ')), { a: 2 })
  assert.deepEqual(parseJson(utf8('\ufeff{}')), {})
})

test('no message of a refused body quotes it', () => {
  assert.throws(
    () => parseJson(utf8('{"passphrase": hunter2}')),
    (error: Error) => !JSON.stringify([error.message, error.cause, error.stack]).includes('hunter2'),
  )
  const schema = z.strictObject({ passphrase, mode: z.enum(['a']), data: base64(), n: integer(1, 2) })
  for (const name of ['passphrase', 'mode', 'data', 'n']) {
    const value = { passphrase: 'long enough', mode: 'a', data: '', n: 1, [name]: 'hunter2' }
    if (name === 'passphrase') value.passphrase = 'hunter2'
    const message = refusal(schema, value)
    assert.match(message, new RegExp(`^${name}: `))
    assert.doesNotMatch(message, /hunter2/)
  }
})

test('JSON of any depth neither overflows the stack nor passes a schema', () => {
  const deep = parseJson(utf8('['.repeat(16_000) + ']'.repeat(16_000)))
  assert.match(refusal(z.strictObject({ id }), deep), /^body: /)
  const nested = parseJson(utf8(`${'{"id":'.repeat(8000)}1${'}'.repeat(8000)}`))
  assert.match(refusal(z.strictObject({ id }), nested), /^id: /)
})

test('JSON of more values than any request has is refused before it is parsed, text of any length is not', () => {
  const tooMany = /more than 16384 values/
  for (const text of [
    '['.repeat(300_000) + ']'.repeat(300_000),
    '{"id":'.repeat(100_000) + '}'.repeat(100_000),
    `[${'0,'.repeat(400_000)}0]`,
    `{${Array.from({ length: 60_000 }, (_, n) => `"m${n}":1`)}}`,
    `[${JSON.stringify('\\')},${'[],'.repeat(300_000)}[]]`,
    `[${JSON.stringify('"')},${'[],'.repeat(300_000)}[]]`,
  ])
    assert.throws(() => parseJson(utf8(text)), { code: 'invalid', message: tooMany }, text.slice(0, 20))
  for (const text of [',[{'.repeat(300_000), '\\"'.repeat(100_000), '"'.repeat(300_000)]) {
    assert.equal(parseJson(utf8(JSON.stringify(text))), text)
  }
  const values = Array.from({ length: 10_000 }, (_, n) => String(n))
  assert.deepEqual(parseJson(utf8(JSON.stringify(values))), values)
})

test('any JSON value comes back, and any bytes are read or refused', () => {
  fc.assert(fc.property(fc.json(), (text) => assert.deepEqual(parseJson(utf8(text)), JSON.parse(text))))
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      try {
        parseJson(bytes)
      } catch (error) {
        assert.ok(withCode('invalid')(error))
      }
    }),
  )
})

test('unknown members are refused by name, those of Object.prototype included', () => {
  const schema = z.strictObject({ id: id.optional(), inner: z.strictObject({ id }).optional() })
  const parse = (text: string) => refusal(schema, parseJson(utf8(text)))
  assert.equal(parse('{"id":"a"}'), 'accepted')
  assert.equal(parse('{"more":1}'), 'body: unknown member "more"')
  assert.equal(parse('{"a":1,"b":2}'), 'body: unknown members "a", "b"')
  assert.match(parse('{"__proto__":{"id":"a"}}'), /unknown member "__proto__"/)
  assert.match(parse('{"constructor":1}'), /unknown member "constructor"/)
  assert.equal(parse('{"inner":{"id":"a","x":1}}'), 'inner: unknown member "x"')
  assert.ok(parse(`{"${'x'.repeat(10_000)}":1}`).length < 200)
  for (const other of ['null', '[]', '"id"', '1', 'true']) assert.match(parse(other), /^body: /)
})

test('building blocks of schemas keep their bounds', () => {
  const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success
  const cases: [z.ZodType, unknown[], unknown[]][] = [
    [id, ['a', '0', 'A_.-9', 'x'.repeat(128)], ['', '-a', '.a', 'a b', 'ä', 'a~b', 'a\n', 'x'.repeat(129), 1, null]],
    [
      passphrase,
      ['x'.repeat(10), 'x'.repeat(200), 'üüüüü', '€€€€'],
      ['x'.repeat(9), 'x'.repeat(201), `${'x'.repeat(199)}ü`, 'ü'.repeat(101), '', 1, null, `\ud800${'x'.repeat(20)}`],
    ],
    [label, ['', 'x'.repeat(32), 'ü'.repeat(16)], ['x'.repeat(33), 'ü'.repeat(17), '\udc00', 1, null]],
    [integer(1, 1024), [1, 1024, 2.0], [0, 1025, 1.5, '1', null, Number.NaN, true, [1]]],
    [base64(1, 2), ['QQ==', 'QUI='], ['', 'QUJD', 'Q', 'QQ', 1, null]],
    [tags, [[], ['a', 'b', 'a']], [['-'], [1], 'a', null, Array.from({ length: 33 }, (_, n) => `t${n}`)]],
  ]
  for (const [schema, good, bad] of cases) {
    for (const value of good) assert.ok(accepts(schema, value), JSON.stringify(value))
    for (const value of bad) assert.ok(!accepts(schema, value), JSON.stringify(value))
  }
  assert.deepEqual(tags.parse(['b', 'a', 'B', 'b']), ['B', 'a', 'b'])
  assert.deepEqual(passphrase.parse('pässphrase'), utf8('pässphrase'))
})

test('times are RFC 3339 in UTC', () => {
  const good: [string, string][] = [
    ['2024-05-17T12:34:56Z', '2024-05-17T12:34:56.000Z'],
    ['2024-05-17t12:34:56z', '2024-05-17T12:34:56.000Z'],
    ['2024-05-17T12:34:56.999999+00:00', '2024-05-17T12:34:56.000Z'],
    ['2024-05-17T12:34:56.123456789-00:00', '2024-05-17T12:34:56.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['1969-12-31T23:59:59Z', '1969-12-31T23:59:59.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ]
  for (const [text, expected] of good) assert.equal(readTimestamp(text), Date.parse(expected), text)
  const bad = [
    '',
    '2024',
    '2024-05-17',
    '2024-05-17T12:34:56',
    '2024-05-17T12:34:56+01:00',
    '2024-05-17T12:34:56+0000',
    '2024-05-17 12:34:56Z',
    '2024-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2024-13-01T00:00:00Z',
    '2024-00-01T00:00:00Z',
    '2024-05-17T24:00:00Z',
    '2024-05-17T12:60:00Z',
    '2024-05-17T12:34:61Z',
    '2024-05-17T12:34:56.Z',
    '12024-05-17T12:34:56Z',
    ' 2024-05-17T12:34:56Z',
    '2024-05-17T12:34:56Z\n',
  ]
  for (const text of bad) assert.equal(readTimestamp(text), null, text)
  assert.ok(!timestamp.safeParse(1).success)
  const times = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  fc.assert(
    fc.property(times, (date) =>
      assert.equal(readTimestamp(date.toISOString()), Math.floor(date.getTime() / 1000) * 1000),
    ),
  )
})

test('a body is read whole, whatever pieces it comes in, and all of it is wiped', async () => {
  const reader = createBodyReader(BODY_LIMITS)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1 })), async (pieces) => {
      const whole = Buffer.concat(pieces)
      const copies = pieces.map((piece) => Buffer.from(Uint8Array.from(piece).buffer))
      const body = await reader.read(Readable.from(copies), 10_000)
      assert.equal(body.constructor, Uint8Array)
      assert.deepEqual(Buffer.from(body), whole)
      wipeBody(body)
      for (const bytes of [body, ...copies]) assert.ok(bytes.length === 0 || bytes.every((byte) => byte === 0))
    }),
    { numRuns: 30 },
  )
})

test('a body over its limit, one that breaks off, and one that fails are refused', async () => {
  const reader = createBodyReader(BODY_LIMITS)
  await assert.rejects(reader.read(Readable.from([new Uint8Array(6), new Uint8Array(5)]), 10), withCode('tooLarge'))
  const broken = new PassThrough()
  broken.write('abc')
  setImmediate(() => broken.destroy())
  await assert.rejects(reader.read(broken, 10), withCode('invalid'))
  const failing = new PassThrough()
  setImmediate(() => failing.destroy(new Error('reset')))
  await assert.rejects(reader.read(failing, 10), withCode('invalid'))
})

test('a body that comes too slowly is given up, one at the least rate is not', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 100, bytesPerSecondMin: 1000 })
  const silent = new PassThrough()
  await assert.rejects(reader.read(silent, 1000), withCode('timeout'))
  const slow = new PassThrough()
  const read = reader.read(slow, 10_000)
  for (let sent = 0; sent < 6; sent++) {
    slow.write(new Uint8Array(100))
    await sleep(50)
  }
  slow.end()
  assert.equal((await read).length, 600)
})

test('a burst pays for no silence beyond the grace, and what comes in time is waited for', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 100, bytesPerSecondMin: 1000 })
  const burst = new PassThrough()
  burst.write(new Uint8Array(100_000)) // on average enough for a minute and a half
  const begunMs = performance.now()
  await assert.rejects(reader.read(burst, 1_000_000), withCode('timeout'))
  assert.ok(performance.now() - begunMs < 10_000)
  const streamed = new PassThrough()
  streamed.write(new Uint8Array(100_000))
  await assert.rejects(async () => {
    for await (const _ of reader.stream(() => streamed)) {
    }
  }, withCode('timeout'))
})

test('a body has no longer than its terms allow, however quickly it comes', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 50 })
  for (const way of ['read', 'stream'] as const) {
    const source = new PassThrough()
    const flow = setInterval(() => source.write(new Uint8Array(10_000)), 5)
    const terms = { ...ANY_TERMS, withinMs: 200 }
    await assert.rejects(async () => {
      if (way === 'read') await reader.read(source, 1e9, terms)
      else for await (const _ of reader.stream(() => source, terms));
    }, withCode('timeout'))
    clearInterval(flow)
  }
})

test('a body ends with the admission of its request, at the next check of the pace or when all are asked', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 50 })
  for (const how of ['by itself', 'when asked']) {
    let isAdmitted = true
    const check = () => {
      if (!isAdmitted) throw new CofferError('unauthenticated', 'Gone')
    }
    const [whole, streamed] = [new PassThrough(), new PassThrough()]
    const flow = setInterval(() => [whole, streamed].map((source) => source.write(new Uint8Array(10_000))), 5)
    const terms = { ...ANY_TERMS, check }
    const reads = [
      reader.read(whole, 1e9, terms),
      (async () => {
        for await (const _ of reader.stream(() => streamed, terms));
      })(),
    ]
    const refused = Promise.all(reads.map((read) => assert.rejects(read, withCode('unauthenticated'))))
    await sleep(20)
    isAdmitted = false
    if (how === 'when asked') reader.recheck()
    await refused
    clearInterval(flow)
  }
})

test('all bodies together stay within the memory bound, and it is given back', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, totalBytesMax: 100, smallBytes: 0 })
  const first = new PassThrough()
  const reading = reader.read(first, 1000)
  first.write(new Uint8Array(80))
  await sleep(5)
  await assert.rejects(reader.read(Readable.from([new Uint8Array(30)]), 1000), withCode('busy'))
  first.end()
  assert.equal((await reading).length, 80)
  assert.equal((await reader.read(Readable.from([new Uint8Array(100)]), 1000)).length, 100)
})

test('what is kept of streamed bodies counts with the others, until it is released', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, totalBytesMax: 100, smallBytes: 10 })
  const [first, second] = [reader.hold('first'), reader.hold('second')]
  first.add(60)
  first.add(20)
  second.add(10)
  await assert.rejects(reader.read(Readable.from([new Uint8Array(41)]), 1000), withCode('busy'))
  assert.throws(() => second.add(31), withCode('busy'))
  second.release()
  first.release()
  first.release()
  assert.equal((await reader.read(Readable.from([new Uint8Array(110)]), 1000)).length, 110)
  await assert.rejects(reader.read(Readable.from([new Uint8Array(111)]), 1000), withCode('busy'))
})

test('large bodies that take all the memory there is for them keep no small one out', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, totalBytesMax: 100, smallBytes: 50 })
  const large = [new PassThrough(), new PassThrough()]
  const readings = large.map((stream, n) => reader.read(stream, 1000, { ...ANY_TERMS, user: `user ${n}` }))
  large[0]!.write(new Uint8Array(120))
  large[1]!.write(new Uint8Array(80))
  await sleep(5)
  await assert.rejects(reader.read(Readable.from([new Uint8Array(51)]), 1000), withCode('busy'))
  assert.equal((await reader.read(Readable.from([new Uint8Array(50)]), 1000)).length, 50)
  for (const stream of large) stream.end()
  assert.deepEqual(
    (await Promise.all(readings)).map(({ length }) => length),
    [120, 80],
  )
  assert.equal((await reader.read(Readable.from([new Uint8Array(150)]), 1000)).length, 150)
})

test('a streamed body comes piece by piece and holds the client back meanwhile', async () => {
  const reader = createBodyReader(BODY_LIMITS)
  const source = new PassThrough({ highWaterMark: 1000 })
  const chunks = reader.stream(() => source)
  let taken = 0
  const feeding = (async () => {
    for (let n = 0; n < 100; n++) {
      if (!source.write(new Uint8Array(1000).fill(n))) await once(source, 'drain')
      taken++
    }
    source.end()
  })()
  const received: number[] = []
  for await (const chunk of chunks) {
    await sleep(1)
    assert.ok(taken - received.length < 5, `${taken} taken, ${received.length} received`)
    for (let at = 0; at < chunk.length; at += 1000) received.push(chunk[at]!)
  }
  await feeding
  assert.deepEqual(
    received,
    Array.from({ length: 100 }, (_, n) => n),
  )
})

test('a streamed body is opened only when somebody asks for it', async () => {
  const reader = createBodyReader(BODY_LIMITS)
  let opened = 0
  const chunks = reader.stream(() => {
    opened++
    return Readable.from([new Uint8Array(3)])
  })
  await sleep(10)
  assert.equal(opened, 0)
  assert.equal((await Array.fromAsync(chunks)).length, 1)
  assert.equal(opened, 1)
})

test('a streamed body that breaks off throws after what came, and one that trickles is refused', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 40, bytesPerSecondMin: 1_000_000 })
  const broken = new PassThrough()
  broken.write('abc')
  const received: string[] = []
  await assert.rejects(async () => {
    for await (const chunk of reader.stream(() => broken)) {
      received.push(Buffer.from(chunk).toString())
      broken.destroy(new Error('reset'))
    }
  }, withCode('invalid'))
  assert.deepEqual(received, ['abc'])

  const slow = new PassThrough()
  const trickle = setInterval(() => slow.write('x'), 5)
  await assert.rejects(async () => {
    for await (const _ of reader.stream(() => slow)) {
    }
  }, withCode('timeout'))
  clearInterval(trickle)
})

test('the time a handler takes for a streamed body is not counted against the client', async () => {
  const reader = createBodyReader({ ...BODY_LIMITS, graceMs: 50, bytesPerSecondMin: 1_000_000 })
  let bytes = 0
  for await (const chunk of reader.stream(() => Readable.from([new Uint8Array(10), new Uint8Array(10)]))) {
    bytes += chunk.length
    await sleep(120)
  }
  assert.equal(bytes, 20)
})

test('what a handler leaves of a streamed body is discarded, so that the connection can go on', async () => {
  const reader = createBodyReader(BODY_LIMITS)
  const source = Readable.from(Array.from({ length: 50 }, () => new Uint8Array(1000)))
  for await (const _ of reader.stream(() => source)) break
  await once(source, 'end')
})

const BOUNDARY = 'test-boundary'
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`

const multipart = (...parts: [head: string, body: string][]): string =>
  `${parts.map(([head, body]) => `--${BOUNDARY}\r\n${head}\r\n\r\n${body}\r\n`).join('')}--${BOUNDARY}--\r\n`

const named = (name: string) => `content-disposition: form-data; name="${name}"`

test('parts of a form come as bytes in their order, whatever type they say', async () => {
  const body = multipart(
    [`${named('arguments')}\r\ncontent-type: application/json; charset=utf-16`, '{"a":"ü"}'],
    [`${named('key_file')}; filename="../../etc/x"\r\ncontent-type: text/plain`, 'line\r\n--test\r\n'],
  )
  const parts = await parseMultipart(utf8(body), TYPE)
  assert.deepEqual(
    parts.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]),
    [
      ['arguments', '{"a":"ü"}'],
      ['key_file', 'line\r\n--test\r\n'],
    ],
  )
})

test('files of a form come with the names that clients give them, as many as the caller expects', async () => {
  const heads: readonly [head: string, fileName: string | null][] = [
    [named('parameter'), null],
    [`${named('file')}; filename="a (1).png"`, 'a (1).png'],
    [`${named('file')}; filename="été.png"`, 'été.png'],
    [`${named('file')}; filename*=utf-8''%C3%A9t%C3%A9.png`, 'été.png'],
    [`${named('file')}; filename="ascii.png"; filename*=UTF-8'fr'%C3%A9.png`, 'é.png'],
    [`${named('file')}; filename="plain.png"; filename*=UTF-8''%C3`, 'plain.png'],
    [`${named('file')}; filename=""`, ''],
  ]
  const body = utf8(multipart(...heads.map(([head]): [string, string] => [head, 'x'])))
  async function* chunks() {
    yield body
  }
  const read = async (partsMax: number) => {
    const names: (string | null)[] = []
    for await (const { fileName } of readParts(chunks(), TYPE, partsMax)) names.push(fileName)
    return names
  }
  assert.deepEqual(
    await read(heads.length),
    heads.map(([, fileName]) => fileName),
  )
  await assert.rejects(read(heads.length - 1), withCode('invalid'))
  const long = utf8(multipart([`${named('file')}; filename="${'x'.repeat(1025)}"`, 'x']))
  await assert.rejects(parseMultipart(long, TYPE), withCode('invalid'))
})

test('malformed forms are refused, never waited for', { timeout: 20_000 }, async () => {
  const whole = multipart([named('a'), 'one'], [named('b'), 'two'])
  const refused = (text: string, type = TYPE) => assert.rejects(parseMultipart(utf8(text), type), withCode('invalid'))
  await refused(whole, 'multipart/form-data')
  await refused(whole, 'multipart/form-data; boundary=')
  await refused('')
  await refused('x')
  await refused(whole, 'multipart/form-data; boundary=other')
  await refused(multipart(...Array.from({ length: 6 }, (_, n): [string, string] => [named(`p${n}`), 'x'])))
  for (let length = 0; length < whole.length - `--\r\n`.length; length++) await refused(whole.slice(0, length))
})

test('any bytes as a form are parsed or refused, never waited for', { timeout: 60_000 }, async () => {
  const whole = Buffer.from(multipart([named('a'), 'one'], [named('b'), 'two']))
  const edits = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
  const edited = edits.map((list) => {
    const copy = Uint8Array.from(whole)
    for (const [index, value] of list) copy[index] = value
    return copy
  })
  const pieces = fc
    .array(fc.constantFrom(`--${BOUNDARY}`, `--${BOUNDARY}--`, '\r\n', '\r\n\r\n', named('a'), 'x', '--', ':'))
    .map((list) => utf8(list.join('')))
  await fc.assert(
    fc.asyncProperty(fc.oneof(edited, pieces, fc.uint8Array()), async (body) => {
      try {
        for (const { bytes } of await parseMultipart(body, TYPE)) assert.ok(bytes.length <= body.length)
      } catch (error) {
        assert.ok(withCode('invalid')(error), String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

test('a random part content comes back byte by byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (content) => {
      fc.pre(!Buffer.from(content).includes(BOUNDARY))
      const body = Buffer.concat([
        Buffer.from(`--${BOUNDARY}\r\n${named('file')}\r\n\r\n`),
        content,
        Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
      ])
      const parts = await parseMultipart(body, TYPE)
      assert.deepEqual(
        parts.map(({ bytes }) => [...bytes]),
        [[...content]],
      )
    }),
    { numRuns: 200 },
  )
})

test('parts come as they arrive, in pieces of any size, and may be left unread', async () => {
  const contents = ['{"a":1}', `--${BOUNDARY}`, '\r\n--test-boundar\r\n', '']
  const body = utf8(multipart(...contents.map((content, n): [string, string] => [named(`p${n}`), content])))
  for (const bytes of [1, 2, 3, 7, 64, 1000]) {
    for (const reading of ['all', 'none', 'some'] as const) {
      async function* chunks() {
        for (let at = 0; at < body.length; at += bytes) yield body.subarray(at, at + bytes)
      }
      const seen: string[] = []
      for await (const { name, content } of readParts(chunks(), TYPE)) {
        let text = ''
        if (reading !== 'none') {
          for await (const piece of content) {
            text += Buffer.from(piece).toString()
            if (reading === 'some') break
          }
        }
        seen.push(reading === 'all' ? `${name} ${text}` : name)
      }
      assert.deepEqual(seen, reading === 'all' ? contents.map((text, n) => `p${n} ${text}`) : ['p0', 'p1', 'p2', 'p3'])
    }
  }
})

test('what breaks while parts arrive is thrown as it is, and leaving off ends the source', async () => {
  let ended = 0
  async function* chunks() {
    try {
      yield utf8(`--${BOUNDARY}\r\n${named('a')}\r\n\r\nx`)
      throw new CofferError('timeout', 'Too slow')
    } finally {
      ended++
    }
  }
  const read = async (leave: boolean) => {
    for await (const { content } of readParts(chunks(), TYPE)) {
      if (leave) return
      for await (const _ of content);
    }
  }
  await assert.rejects(read(false), withCode('timeout'))
  await read(true)
  assert.equal(ended, 2)
})
