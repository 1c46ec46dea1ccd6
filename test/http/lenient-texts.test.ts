/** Texts as other systems write them: a byte order mark before JSON and PEM, multipart forms with bare LF. Contract section 1.1. */

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import test, { before } from 'node:test'
import { splitPem } from '../../firmware/crypto/encoding/pem.ts'
import { createLongJsonReader } from '../../firmware/http/request/long-json.ts'
import { parseMultipart } from '../../firmware/http/request/multipart.ts'
import { operationalRig, type Rig } from '../support/in-process.ts'

const MARK = Buffer.of(0xef, 0xbb, 0xbf)
const marked = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat([MARK, Buffer.from(text)]))

let rig: Rig
before(async (t) => {
  rig = await operationalRig(t as test.TestContext)
  await rig.key('plain')
})
const post = (path: string, as: string, body: Uint8Array<ArrayBuffer>, type = 'application/json') =>
  rig.call('POST', path, { as, body, headers: { 'content-type': type } })

test('a byte order mark before JSON is passed over', async () => {
  const user = { realName: 'x', role: 'Operator', passphrase: 'a good passphrase' }
  assert.equal((await post('/users', 'admin', marked(JSON.stringify(user)))).status, 201)
  const message = { mode: 'EdDSA', message: 'AAAA' }
  assert.equal((await post('/keys/plain/sign', 'operator', marked(JSON.stringify(message)))).status, 200)
})

test('of a mark only a whole one at the start is passed over, however the bytes come', () => {
  const read = (bytes: Uint8Array, size: number) => {
    const reader = createLongJsonReader(['mode', 'message'], 'message')
    for (let at = 0; at < bytes.length; at += size) reader.take(bytes.slice(at, at + size))
    return reader.end()
  }
  for (const size of [1, 2, 3, 100])
    assert.deepEqual(read(marked('{"mode":"a","message":"AAAA"}'), size).fields, { mode: 'a', message: '' })
  const text = Buffer.from('{"mode":"a"}')
  for (const start of [MARK.subarray(0, 1), MARK.subarray(0, 2), Buffer.concat([MARK, MARK]), Buffer.from(' \ufeff')])
    for (const size of [1, 100]) assert.throws(() => read(Buffer.concat([start, text]), size), /not JSON/)
  assert.throws(() => read(MARK, 1), /not JSON/)
})

test('a byte order mark before PEM is passed over', async () => {
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  assert.deepEqual(
    splitPem(marked(pem)).map(({ label }) => label),
    ['CERTIFICATE'],
  )
  const { privateKey } = generateKeyPairSync('ed25519')
  const form = new FormData()
  form.append('arguments', new Blob([marked(JSON.stringify({ mechanisms: ['EdDSA_Signature'] }))]))
  form.append('key_file', new Blob([marked(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)]))
  const { status, text } = await rig.call('POST', '/keys', { as: 'admin', body: form })
  assert.equal(status, 201, text())
})

const TYPE = 'multipart/form-data; boundary=b'
const formOf = (lineBreak: string, content: string): Buffer =>
  Buffer.from(
    [
      '--b',
      'content-disposition: form-data; name="one"',
      'content-type: text/plain',
      '',
      content,
      '--b',
      'content-disposition: form-data; name="two"; filename="f"',
      '',
      '2',
      '--b--',
      '',
    ].join(lineBreak),
    'latin1',
  )

for (const [name, lineBreak] of [
  ['CRLF', '\r\n'],
  ['bare LF', '\n'],
] as const)
  for (const content of ['', 'text', 'ends with CR\r', '\n', '\r\n\r\n', '\n--c', 'a\r\n--', `\0${'\r'.repeat(300)}`])
    test(`a form with ${name} and the content ${JSON.stringify(content.slice(0, 20))} is read`, async () => {
      const parts = await parseMultipart(formOf(lineBreak, content), TYPE)
      assert.deepEqual(
        parts.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('latin1')]),
        [
          ['one', content],
          ['two', '2'],
        ],
      )
    })

test('a key with a private part that is no base64 is told so', async () => {
  const body = (value: object) => ({ as: 'admin', json: { type: 'Generic', mechanisms: [], ...value } })
  const messageOf = async (value: object): Promise<string> => {
    const { status, json } = await rig.call('POST', '/keys', body(value))
    assert.equal(status, 400)
    return json().message
  }
  assert.equal(await messageOf({ private: { data: 'not base64!' } }), 'private: must be base64, and not empty: data')
  assert.equal(await messageOf({ key: { data: '' } }), 'key: must be base64, and not empty: data')
  const rsa = { primeP: 'AAAA', primeQ: '%', publicExponent: 'AQAB' }
  assert.equal(await messageOf({ private: rsa }), 'private: must be base64, and not empty: primeQ')
  assert.equal(await messageOf({ private: { primeP: 'AAAA' } }), 'private: primeQ is missing')
  assert.match(await messageOf({ private: {} }), /^private: must have data, or/)
  assert.match(await messageOf({ private: { data: 'AAAA', more: 1 } }), /^private: unknown member "more"/)
  assert.match(await messageOf({ private: { data: 'AAAA', ...rsa } }), /^private: unknown members/)
  assert.match(await messageOf({ private: 'AAAA' }), /^private: must be an object/)
})

test('no schema of the API document is called Time, which is a type of Go', async () => {
  const { json } = await rig.call('GET', '/openapi.json')
  const names = Object.keys(json().components.schemas)
  assert.ok(names.length > 20)
  assert.ok(!names.includes('Time'))
})
