import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DECLARATIONS } from '../../firmware/app.ts'
import { splitLine } from '../support/client.ts'
import { operationalRig } from '../support/in-process.ts'
import { damaged, forAWhile, seconds } from './support.ts'

// Names and values that endpoints know, so that some bodies get past the schema.
const NAMES = [
  'id',
  'type',
  'algorithm',
  'length',
  'mechanisms',
  'mode',
  'message',
  'iv',
  'encrypted',
  'private',
  'restrictions',
  'tags',
  'label',
  'realName',
  'role',
  'time',
  'status',
  'ipAddress',
  'netmask',
  'gateway',
  'ipv6',
  'cidr',
  'port',
  'logLevel',
  'commonName',
  'subjectAltNames',
  'countryName',
  'lines',
  'uses',
  'whenFull',
  'newId',
  '__proto__',
  'constructor',
  'toString',
]
const WORDS = [
  'Curve25519',
  'EC_P256',
  'Generic',
  'EdDSA_Signature',
  'AES_Encryption_CBC',
  'EdDSA',
  'AES_CBC',
  'ECDSA',
  'Operator',
  'YWJj',
  '2030-01-02T03:04:05Z',
  'on',
  'off',
  '10.0.0.1',
  '255.0.0.0',
  'info',
  '::1/64',
  'box',
  'IP:1.2.3.4',
  'ed',
  'n'.repeat(129),
  '\0',
  '\ud800',
  '',
]
const leaf = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.constantFrom(0, 1, -1, 128, 256, 1000, 65536, 1e300, -0, 0.5, null, true, false),
  fc.string({ maxLength: 20 }),
  fc.base64String({ maxLength: 64 }),
)
const { value } = fc.letrec<{ value: unknown; object: object; array: unknown[] }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, tie('object'), tie('array')),
  array: fc.array(tie('value'), { maxLength: 5 }),
  object: fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 8 })), tie('value')), { maxLength: 6 })
    .map((members) => Object.fromEntries(members)),
}))
const deep = fc
  .tuple(fc.nat(20_000), fc.constantFrom('[', '{"a":', '[[', '"'))
  .map(([times, text]) => text.repeat(times))
// What endpoints take, or nearly.
const word = fc.constantFrom(...WORDS)
const fit = fc.oneof(
  fc.record({ mode: fc.constantFrom('EdDSA', 'ECDSA'), message: fc.base64String({ maxLength: 200 }) }),
  fc.record(
    {
      mode: fc.constantFrom('AES_CBC', 'RAW'),
      message: fc.base64String({ maxLength: 64 }),
      encrypted: fc.base64String({ maxLength: 64 }),
      iv: fc.option(fc.base64String({ maxLength: 24 })),
    },
    { requiredKeys: ['mode'] },
  ),
  fc.record({
    type: fc.constantFrom('Curve25519', 'Generic', 'EC_P256'),
    mechanisms: fc.array(word, { maxLength: 2 }),
    private: fc.record({ data: fc.base64String({ maxLength: 64 }) }),
  }),
  fc.record(
    {
      type: fc.constantFrom('Curve25519', 'Generic', 'EC_P256'),
      mechanisms: fc.array(word, { maxLength: 3 }),
      length: fc.constantFrom(128, 256),
    },
    { requiredKeys: ['type', 'mechanisms'] },
  ),
  fc.record({ length: fc.integer({ min: 0, max: 2000 }) }),
  fc.record({ label: fc.string({ maxLength: 40 }) }),
  fc.record(
    {
      commonName: fc.string({ maxLength: 40 }),
      subjectAltNames: fc.array(fc.oneof(word, fc.domain()), { maxLength: 4 }),
    },
    { requiredKeys: ['commonName'] },
  ),
  fc.record({ ipAddress: fc.ipV4(), port: fc.nat(70_000), logLevel: word }),
  fc.record({ lines: fc.constantFrom(999, 1000, 5000), whenFull: fc.constantFrom('overwrite', 'stop') }),
)
const json = damaged(
  fc
    .oneof(
      { weight: 30, arbitrary: fit.map((value) => JSON.stringify(value)) },
      { weight: 20, arbitrary: value.map((value) => JSON.stringify(value) ?? '') },
      { weight: 1, arbitrary: deep },
    )
    .map((text) => Buffer.from(text)),
)

// What changes who may come in stays as it is, and RSA keys would take all the time.
const LEFT_OUT = /passphrase|\/provision|\/unlock|\/users|\/tls\/generate/
const isJson = ({ body }: (typeof DECLARATIONS)[number]) =>
  body !== undefined && ['json', 'longJson', 'jsonOrMultipart'].includes(body.kind)
const endpoints = DECLARATIONS.filter((declaration) => isJson(declaration) && !LEFT_OUT.test(declaration.path)).map(
  ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, (_, name: string) => (name === 'id' ? 'ed' : 'x'))}`,
)

test(`whatever comes as JSON is answered below 500, for ${seconds} s`, async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  assert.ok(endpoints.length > 15 && endpoints.includes('POST /keys/ed/sign'), String(endpoints))
  const statuses = new Map<number, number>()
  const request = fc.record({
    line: fc.constantFrom(...endpoints),
    body: json,
    as: fc.constantFrom('admin', 'admin', 'operator'),
    type: fc.constantFrom(
      ...Array(6).fill('application/json'),
      'application/json; charset=utf-8',
      'Application/JSON',
      'text/plain',
    ),
  })
  const runs = await forAWhile(request, async ({ line, body, as, type }) => {
    const status = await rig.status(...splitLine(line), {
      as,
      body: Uint8Array.from(body),
      headers: { 'content-type': type },
    })
    assert.ok(status < 500, `${line}: ${status}`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    rig.entries.length = 0
  })
  t.diagnostic(`${runs} runs, by status: ${JSON.stringify([...statuses].sort())}`)
  assert.ok((statuses.get(400) ?? 0) > 0 && (statuses.get(200) ?? 0) > 0)
})
