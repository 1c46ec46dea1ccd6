// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DECLARATIONS } from '../../firmware/app.ts'
import { splitLine } from '../support/client.ts'
import { operationalRig, type Rig } from '../support/in-process.ts'
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
const base64 = (maxLength: number) => fc.base64String({ maxLength })
const signing = fc.record({ mode: fc.constantFrom('EdDSA', 'ECDSA'), message: base64(200) })
const ciphering = fc.record(
  {
    mode: fc.constantFrom('AES_CBC', 'RAW'),
    message: base64(64),
    encrypted: base64(64),
    iv: fc.option(base64(24)),
  },
  { requiredKeys: ['mode'] },
)
const kind = fc.oneof(
  fc.constantFrom(
    { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
    { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] },
    { type: 'Generic', mechanisms: ['AES_Encryption_CBC'] },
  ),
  fc.record({ type: word, mechanisms: fc.array(word, { maxLength: 3 }) }),
)
const generated = fc
  .tuple(kind, fc.record({ length: fc.constantFrom(128, 256), label: word }, { requiredKeys: [] }))
  .map(([kind, more]) => ({ ...kind, ...more }))
const imported = fc
  .tuple(
    kind,
    fc.oneof(
      base64(64),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    ),
  )
  .map(([kind, data]) => ({ ...kind, private: { data } }))
const subject = fc.record(
  {
    commonName: fc.string({ maxLength: 40 }),
    organizationName: fc.string({ unit: 'grapheme', maxLength: 20 }),
    countryName: fc.string({ maxLength: 2 }),
    emailAddress: fc.emailAddress(),
    subjectAltNames: fc.array(fc.oneof(word, fc.domain()), { maxLength: 4 }),
  },
  { requiredKeys: ['commonName'] },
)
const switched = fc.record({ status: fc.constantFrom('on', 'off') })
const fitting: Record<string, fc.Arbitrary<unknown>> = {
  'POST /random': fc.record({ length: fc.integer({ min: 0, max: 2000 }) }),
  'POST /keys': imported,
  'PUT /keys/:id': imported,
  'POST /keys/generate': generated,
  'POST /keys/:id/move': fc.record({ newId: word }),
  'PUT /keys/:id/label': fc.record({ label: fc.string({ unit: 'grapheme', maxLength: 40 }) }),
  'POST /keys/:id/sign': signing,
  'POST /keys/:id/encrypt': ciphering,
  'POST /keys/:id/decrypt': ciphering,
  'POST /keys/:id/csr.pem': subject,
  'POST /config/tls/csr.pem': subject,
  'PUT /config/unattended-boot': switched,
  'PUT /config/console': switched,
  'PUT /config/interfaces': fc.record({
    transit: fc.constantFrom('on', 'off'),
    tokenHours: fc.integer({ min: 0, max: 800 }),
  }),
  'PUT /config/time': fc.record({
    time: fc
      .date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString()),
  }),
  'PUT /config/audit': fc.record(
    {
      changes: fc.constantFrom(999, 1000, 5000),
      uses: fc.constantFrom(1000, 5000),
      lines: fc.constantFrom(999, 1000, 5000),
      whenFull: fc.constantFrom('overwrite', 'stop'), // nobody exports: refused uses would be 503, as they shall be
    },
    { requiredKeys: [] },
  ),
  'PUT /config/network': fc.record(
    { ipAddress: fc.ipV4(), netmask: word, gateway: fc.ipV4(), ipv6: fc.record({ cidr: word, gateway: fc.ipV6() }) },
    { requiredKeys: ['ipAddress', 'netmask'] },
  ),
  'PUT /config/ntp': fc.record({ ntpIP: fc.oneof(fc.ipV4(), fc.ipV6()), ntsName: fc.domain() }, { requiredKeys: [] }),
  'PUT /config/logging': fc.record({
    ipAddress: fc.ipV4(),
    port: fc.nat(70_000),
    logLevel: fc.constantFrom('debug', 'info', 'warning', 'error', 'on'),
  }),
  'PUT /config/vocabulary': fc.record({ members: fc.constantFrom('both', 'reference', 'original') }),
}
const fit = fc.oneof(...Object.values(fitting))
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
const asked = (line: string) => line.replace(/:(\w+)/g, (_, name: string) => (name === 'id' ? 'ed' : 'x'))
const endpoints = DECLARATIONS.filter((declaration) => isJson(declaration) && !LEFT_OUT.test(declaration.path)).map(
  ({ method, path }) => `${method} ${path}`,
)

test(`whatever comes as JSON is answered below 500, for ${seconds} s`, async (t) => {
  const rig = await operationalRig(t)
  await rig.key('ed')
  const lines = endpoints.map(asked)
  assert.ok(lines.length > 15 && lines.includes('POST /keys/ed/sign'), String(lines))
  for (const line of Object.keys(fitting)) assert.ok(endpoints.includes(line), line)
  const statuses = new Map<number, number>()
  const request = fc.record({
    line: fc.constantFrom(...lines),
    body: json,
    as: fc.constantFrom('admin', 'admin', 'operator'),
    type: fc.constantFrom(
      ...Array(6).fill('application/json'),
      'application/json; charset=utf-8',
      'Application/JSON',
      'text/plain',
    ),
  })
  const right = fc.oneof(
    ...Object.entries(fitting).map(([line, body]) =>
      fc.record({
        line: fc.constant(asked(line)),
        body: damaged(body.map((value) => Buffer.from(JSON.stringify(value)))),
        as: fc.constant(/sign|crypt|random/.test(line) ? 'operator' : 'admin'),
        type: fc.constant('application/json'),
      }),
    ),
  )
  const runs = await forAWhile(fc.oneof(request, right), async ({ line, body, as, type }) => {
    const { status, text } = await rig.call(...splitLine(line), {
      as,
      body: Uint8Array.from(body),
      headers: { 'content-type': type },
    })
    if (status >= 500) assert.fail(`${line}: ${status} ${text()} ${JSON.stringify(rig.entries)}`)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    rig.entries.length = 0
    if (line.endsWith('/move')) await makeSureOfKey(rig)
  })
  t.diagnostic(`${runs} runs, by status: ${JSON.stringify([...statuses].sort())}`)
  assert.ok((statuses.get(400) ?? 0) > 0 && (statuses.get(200) ?? 0) > 0)
})

async function makeSureOfKey(rig: Rig): Promise<void> {
  if ((await rig.status('GET', '/keys/ed', { as: 'admin' })) === 404) await rig.key('ed')
}
