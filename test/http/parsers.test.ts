/** Parsers of what clients send in headers and paths: well-formed and malformed input, and properties. */

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { encodeBase64, readBase64 } from '../../firmware/base/base64.ts'
import { etagOf, judge } from '../../firmware/http/request/conditions.ts'
import { acceptable, mediaType } from '../../firmware/http/request/media.ts'
import { createRoutes } from '../../firmware/http/routes.ts'
import { readCredentials } from '../../firmware/kms/pipeline/credentials.ts'

const userIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,9}(~[A-Za-z0-9][A-Za-z0-9_.-]{0,9})?$/)

test('Basic credentials come back as they were sent, the passphrase byte by byte', () => {
  fc.assert(
    fc.property(userIds, fc.uint8Array(), fc.constantFrom('Basic', 'basic', 'BASIC'), (user, passphrase, scheme) => {
      const bytes = Buffer.concat([Buffer.from(`${user}:`), passphrase])
      const credentials = readCredentials(`${scheme} ${bytes.toString('base64')}`)
      assert.equal(credentials?.user, user)
      const copy = credentials?.withSecret((lent) => lent.slice())
      assert.deepEqual([...(copy ?? [])], [...passphrase])
    }),
  )
})

test('malformed Basic headers give no credentials', () => {
  const encode = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  const malformed = [
    undefined,
    '',
    'Basic',
    'Basic ',
    'Basic =',
    'Basic YTpi=',
    'Basic YTp\u00e9',
    'Basic YTpi extra',
    'BasicYTpi',
    'Bearer YTpi',
    'Basic YTo-',
    encode('no colon'),
    encode(':passphrase'),
    encode('a b:passphrase'),
    encode('ü:passphrase'),
    encode('a~:passphrase'),
    encode('~a:passphrase'),
    encode('a~b~c:passphrase'),
    encode(`${'a'.repeat(129)}:passphrase`),
    encode('a\n:passphrase'),
  ]
  for (const header of malformed) assert.equal(readCredentials(header), null, String(header))
  const longest = readCredentials(encode(`${'n'.repeat(128)}~${'a'.repeat(128)}:`))
  assert.equal(
    longest?.withSecret(({ length }) => length),
    0,
  )
})

test('any text as an authorization header is read without an exception', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.base64String().map((text) => `Basic ${text}`),
      ),
      (header) => {
        readCredentials(header)
      },
    ),
  )
})

test('base64 is read as strictly as the contract says', () => {
  const good: [string, number[]][] = [
    ['', []],
    ['QQ==', [0x41]],
    ['QR==', [0x41]], // bits behind the last byte
    ['QUJ=', [0x41, 0x42]],
    ['+/+/', [0xfb, 0xff, 0xbf]],
  ]
  for (const [text, bytes] of good) assert.deepEqual([...(readBase64(text) ?? [])], bytes, text)
  const bad = [
    'Q',
    'QQ',
    'QQ=',
    'Q===',
    '====',
    '=',
    'QQ==QQ==',
    '-_-_',
    'QQ ==',
    'QQ\n==',
    'QUJD\n\n\n\n',
    'QQ==\n',
    'QUJ\u00e9',
    'QU=C',
  ]
  for (const text of bad) assert.equal(readBase64(text), null, JSON.stringify(text))
})

test('base64 of any bytes comes back', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => assert.deepEqual(readBase64(encodeBase64(bytes)), new Uint8Array(bytes))),
  )
})

test('base64 refuses what the alphabet does not hold', () => {
  const alphabet = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
  const near = fc.array(fc.constantFrom(...'AQZaz09+/==-_ \n\t')).map((characters) => characters.join(''))
  fc.assert(
    fc.property(near, (text) => assert.equal(readBase64(text) !== null, alphabet.test(text), JSON.stringify(text))),
  )
})

test('media types are compared without parameters and case', () => {
  assert.equal(mediaType(undefined), '')
  assert.equal(mediaType('Application/JSON; charset="utf-8"'), 'application/json')
  assert.equal(mediaType('  text/plain  '), 'text/plain')
  assert.equal(mediaType(';'), '')
})

test('accept chooses by the most specific range', () => {
  const types = ['application/json', 'text/plain']
  const cases: [string | undefined, string[]][] = [
    [undefined, types],
    ['', types],
    ['*/*', types],
    ['application/*', ['application/json']],
    ['APPLICATION/JSON', ['application/json']],
    ['text/plain;q=0.001, image/png', ['text/plain']],
    ['*/*;q=0', []],
    ['*/*, application/json;q=0', ['text/plain']],
    ['application/*;q=0, application/json;q=0.1', ['application/json']],
    ['application/json;q=0.0, application/*', []],
    ['application/json; charset=utf-8; Q=1', ['application/json']],
    ['application/json;q=nonsense', ['application/json']],
    ['*', []],
    ['*/json', []],
    ['application', []],
    [',,;,text/plain,', ['text/plain']],
    ['text/plain, application/json', types],
    ['*/*;q=0.1, text/plain;q=0.5', ['text/plain', 'application/json']],
    ['text/*, application/json;q=0.999', ['text/plain', 'application/json']],
  ]
  for (const [accept, expected] of cases) assert.deepEqual(acceptable(types, accept), expected, String(accept))
})

test('a header with nothing but spaces in a quality takes no longer than another of its length', {
  timeout: 60_000,
}, () => {
  const spaces = ' '.repeat(3_000_000) // takes hours where each may be the beginning of the end
  assert.deepEqual(acceptable(['application/json'], `application/json;q=a${spaces}b`), ['application/json'])
  assert.deepEqual(acceptable(['application/json'], `application/json;q=${spaces}0${spaces}`), [])
})

test('any accept header is read, and adding a range of everything takes everything not excluded', () => {
  const member = fc.oneof(fc.string(), fc.constantFrom('text/html', 'application/*;q=0.2', 'a/b;q=0', '*/*;q=0.5'))
  fc.assert(
    fc.property(fc.array(member), (members) => {
      const header = members.join(',')
      assert.ok(acceptable(['application/json'], header).length <= 1)
      assert.deepEqual(acceptable(['x/y'], `*/*, ${header.replaceAll('q', 'p').slice(0, 50)}`), ['x/y'])
    }),
  )
})

test('etags are opaque, differ by version and fit into a quoted string', () => {
  assert.notEqual(etagOf('1'), etagOf('2'))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (version) => assert.match(etagOf(version), /^"[A-Za-z0-9_-]{22}"$/)),
  )
})

test('conditions are judged as the table of the contract says', () => {
  const etag = '"e"'
  type Row = [
    ifMatch: string | undefined,
    ifNoneMatch: string | undefined,
    missing: unknown,
    match: unknown,
    other: unknown,
  ]
  const rows: Row[] = [
    ['"e"', undefined, 412, 'proceed', 412],
    ['"a", "e"', undefined, 412, 'proceed', 412],
    ['W/"e"', undefined, 412, 412, 412],
    ['*', undefined, 412, 'proceed', 'proceed'],
    ['nonsense', undefined, 412, 412, 412],
    [undefined, '"e"', 'proceed', 412, 'proceed'],
    [undefined, 'W/"e", "a"', 'proceed', 412, 'proceed'],
    [undefined, '*', 'proceed', 412, 412],
    [undefined, 'nonsense', 'proceed', 'proceed', 'proceed'],
    ['"e"', '"e"', 412, 412, 412],
  ]
  for (const [ifMatch, ifNoneMatch, missing, match, other] of rows) {
    const what = `${ifMatch} ${ifNoneMatch}`
    const conditions = { ifMatch, ifNoneMatch }
    assert.equal(judge(conditions, 'missing', false), missing, `${what} missing`)
    assert.equal(judge(conditions, { etag }, false), match, `${what} match`)
    assert.equal(judge(conditions, { etag: '"o"' }, false), other, `${what} other`)
  }
  assert.equal(judge({ ifMatch: undefined, ifNoneMatch: '"e"' }, { etag }, true), 304)
  assert.equal(judge({ ifMatch: '"e"', ifNoneMatch: undefined }, 'present', false), 412)
  assert.equal(judge({ ifMatch: '*', ifNoneMatch: undefined }, 'unknown', false), 'proceed')
})

test('every path is matched without an exception, and parameters are decoded exactly once', () => {
  const routes = createRoutes<string>()
  routes.at('/keys/:id', () => 'key')
  routes.at('/keys/:prefix*', () => 'prefix')
  routes.at('/keys/generate', () => 'generate')
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (path) => void routes.match(path)))
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (id) => {
      fc.pre(id !== 'generate' && id.isWellFormed())
      const [match] = routes.match(`/keys/${encodeURIComponent(id)}`)
      const expected = id.endsWith('*') ? ['prefix', { prefix: id.slice(0, -1) }] : ['key', { id }]
      assert.deepEqual([match?.value, match?.params], expected)
      assert.equal(match?.malformed, false)
    }),
  )
})

test('a parameter cannot have two names in one place', () => {
  const routes = createRoutes<string>()
  routes.at('/keys/:id', () => 'a')
  assert.throws(() => routes.at('/keys/:name/sign', () => 'b'), /Two names/)
})
