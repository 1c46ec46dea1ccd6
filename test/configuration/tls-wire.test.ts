// @test long 65
/** The TLS port of the running appliance, looked at with the openssl program. Contract sections 1.1, 1.3 and 3.4. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes, verify, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { createServer } from 'node:net'
import test, { after, before } from 'node:test'
import { connect } from 'node:tls'
import { freePort } from '../../tools/free-ports.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Reply, request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { RawClient } from '../support/raw-client.ts'
import { fileNeeds } from '../support/tools.ts'
import { Workshop } from './authority.ts'

await fileNeeds('openssl', 'curl')

const workshop = new Workshop()
after(() => workshop.remove())

let program: string
before(async () => {
  program = await buildForTests()
})

/** Output of s_client for a handshake that allows everything openssl supports. */
function handshake(port: number, options: readonly string[]): { ok: boolean; text: string } {
  const { stdout, stderr } = spawnSync('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...options], {
    input: '',
    timeout: 20_000,
  })
  const text = `${stdout}${stderr}`
  const cipher = /Cipher is (\S+)/.exec(text)?.[1]
  return { ok: cipher !== undefined && cipher !== '(NONE)', text }
}

const LAX = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0'

async function generate(coffer: Coffer, json: object): Promise<void> {
  await expect(204, coffer.call('POST', '/config/tls/generate', { as: ADMIN, json }))
}

const portOf = async (coffer: Coffer): Promise<number> => (await coffer.target()).port

test('versions, ciphers and signatures are what they should be and nothing else', { timeout: 240_000 }, async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  const port = await portOf(coffer)
  await provision(coffer)

  // The client would speak the old versions: it does to a server that wants them.
  const control = await laxServer(t)
  for (const version of ['-tls1', '-tls1_1']) {
    const options = [version, '-cipher', LAX]
    assert.equal(handshake(control, options).ok, true, `openssl cannot speak ${version}`)
    const { ok, text } = handshake(port, options)
    assert.equal(ok, false, version)
    assert.match(text, /alert protocol version/)
  }

  const offered = (key: 'ECDSA' | 'RSA') => [
    `ECDHE-${key}-AES256-GCM-SHA384`,
    `ECDHE-${key}-CHACHA20-POLY1305`,
    `ECDHE-${key}-AES128-GCM-SHA256`,
  ]
  const all12 = workshop.openssl(['ciphers', '-s', '-tls1_2', LAX]).trim().split(':')
  const all13 = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256']
  const more13 = [...all13, 'TLS_AES_128_CCM_SHA256', 'TLS_AES_128_CCM_8_SHA256']
  assert.ok(all12.length > 60 && all12.includes('AES128-SHA') && all12.includes('ECDHE-RSA-AES128-SHA'))
  for (const [json, key] of [
    [{ type: 'EC_P256' }, 'ECDSA'],
    [{ type: 'RSA', length: 2048 }, 'RSA'],
  ] as const) {
    await generate(coffer, json)
    const accepted12 = all12.filter((cipher) => handshake(port, ['-tls1_2', '-cipher', `${cipher}:@SECLEVEL=0`]).ok)
    assert.deepEqual(accepted12.sort(), offered(key).sort())
    const accepted13 = more13.filter((cipher) => handshake(port, ['-tls1_3', '-ciphersuites', cipher]).ok)
    assert.deepEqual(accepted13.sort(), all13.toSorted())
    const sha1 = ['-tls1_2', '-cipher', LAX, '-sigalgs', 'RSA+SHA1:ECDSA+SHA1']
    assert.equal(handshake(port, sha1).ok, false, 'a handshake signed with SHA-1')
    assert.equal(handshake(port, ['-tls1_2', '-cipher', LAX, '-sigalgs', 'RSA+SHA256:ECDSA+SHA256']).ok, true)
  }
  const { text } = handshake(port, ['-tls1_2'])
  assert.match(text, /Compression: NONE/)
  assert.match(text, /Secure Renegotiation IS supported/)
})

const KEYS: [json: { type: string; length?: number }, options: string[], details: RegExp][] = [
  [{ type: 'RSA', length: 2048 }, [], /Peer signature type: RSA-PSS/],
  [{ type: 'RSA', length: 4096 }, [], /Peer signature type: RSA-PSS/],
  [{ type: 'Curve25519' }, [], /Peer signature type: Ed25519/i],
  [{ type: 'EC_P256' }, [], /Peer signature type: ECDSA/],
  [{ type: 'EC_P384' }, [], /Peer signature type: ECDSA/],
  [{ type: 'EC_P521' }, [], /Peer signature type: ECDSA/],
  // Clients do not offer these curves by themselves; this openssl has them for TLS 1.2 only.
  [{ type: 'BrainpoolP256' }, ['-tls1_2', '-groups', 'brainpoolP256r1:P-256'], /Peer signature type: ECDSA/],
  [{ type: 'BrainpoolP384' }, ['-tls1_2', '-groups', 'brainpoolP384r1:P-256'], /Peer signature type: ECDSA/],
  [{ type: 'BrainpoolP512' }, ['-tls1_2', '-groups', 'brainpoolP512r1:P-256'], /Peer signature type: ECDSA/],
]

test('openssl shakes hands with every type of key, verifies its chain, and gets it again after a restart', {
  timeout: 240_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data })
  const port = await portOf(coffer)
  await provision(coffer)
  const root = workshop.root('root')
  const intermediate = workshop.authority('intermediate', root)
  let chain = ''
  for (const [json, options, details] of KEYS) {
    await generate(coffer, json)
    const csr = await expect(
      200,
      coffer.call('POST', '/config/tls/csr.pem', { as: ADMIN, json: { commonName: 'box' } }),
    )
    const extensions = ['subjectAltName=IP:127.0.0.1']
    chain = workshop.issue({ name: 'box', csr: csr.text(), issuer: intermediate, extensions }).pem + intermediate.pem
    const put = { as: ADMIN, type: 'application/x-pem-file', body: chain }
    await expect(201, coffer.call('PUT', '/config/tls/cert.pem', put))
    const verification = ['-CAfile', root.certPath, '-verify_return_error', '-verify_ip', '127.0.0.1']
    const { ok, text } = handshake(port, [...options, ...verification])
    assert.ok(ok, `${JSON.stringify(json)}: ${text}`)
    assert.match(text, details)
    assert.match(text, /Verify return code: 0 \(ok\)/)
  }
  assert.equal(await coffer.stop(), 0)

  const again = startCoffer(t, { program, data })
  const peer = await RawClient.connect(await again.target())
  assert.equal(peer.socket.getPeerX509Certificate()!.toString(), new X509Certificate(chain).toString())
  peer.destroy()
})

test('the fingerprint of the key is on the console and in the log, at each start and when there is a new key', {
  timeout: 120_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  const first = startCoffer(t, { program, data })
  const port = await portOf(first)
  const pin = (port: number, fingerprint: string) =>
    spawnSync('curl', ['-sk', '--pinnedpubkey', fingerprint, `https://127.0.0.1:${port}/api/v1/info`]).status
  const shown = async (coffer: Coffer) => {
    const [, fingerprint] = await coffer.see(/^TLS key (sha256\/\/\S+)\r?\n/m)
    await coffer.see(new RegExp(`general: \\[\\d+\\] TLS key ${fingerprint!.replace(/[+]/g, '\\+')}\\r?\\n`))
    return fingerprint!
  }
  const fingerprint = await shown(first)
  assert.equal(pin(port, fingerprint), 0)
  await provision(first)
  await generate(first, { type: 'EC_P256' })
  const renewed = await shown(first)
  assert.notEqual(renewed, fingerprint)
  assert.equal(pin(port, renewed), 0)
  assert.equal(pin(port, fingerprint), 90) // CURLE_SSL_PINNEDPUBKEYNOTMATCH
  await first.stop()
  assert.equal(await shown(startCoffer(t, { program, data })), renewed)
})

test('network, logging and time survive a restart', { timeout: 120_000 }, async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program, data })
  await provision(coffer)
  const network = { ipAddress: '10.1.2.3', netmask: '255.255.0.0', gateway: '10.1.0.1' }
  const logging = { ipAddress: '0.0.0.0', port: 5140, logLevel: 'error' }
  await expect(204, coffer.call('PUT', '/config/network', { as: ADMIN, json: network }))
  await expect(204, coffer.call('PUT', '/config/logging', { as: ADMIN, json: logging }))
  await expect(204, coffer.call('PUT', '/config/time', { as: ADMIN, json: { time: '2040-02-29T12:00:00Z' } }))
  assert.equal(await coffer.stop(), 0)

  // The level that was set outranks that of the start.
  const again = startCoffer(t, { program, data, settings: { COFFER_LOG: 'debug' } })
  const json = { passphrase: UNLOCK_PASSPHRASE }
  const unlocked = await expect(204, again.call('POST', '/unlock', { json }))
  assert.match(unlocked.headers.date!, /^Wed, 29 Feb 2040 12:/)
  assert.deepEqual((await again.call('GET', '/config/network', { as: ADMIN })).json(), network)
  assert.deepEqual((await again.call('GET', '/config/logging', { as: ADMIN })).json(), logging)
  const { time } = (await again.call('GET', '/config/time', { as: ADMIN })).json<{ time: string }>()
  assert.match(time, /^2040-02-29T12:\d\d:\d\dZ$/)
  assert.doesNotMatch(again.output(), /^(info|debug) /m)
})

const SECURITY_HEADERS: Record<string, RegExp> = {
  'strict-transport-security': /^max-age=\d{7,}$/,
  'x-frame-options': /^DENY$/,
  'x-content-type-options': /^nosniff$/,
  'x-xss-protection': /^1; mode=block$/,
  'x-permitted-cross-domain-policies': /^none$/,
  date: /GMT$/,
  vary: /^Accept, Accept-Encoding, Accept-Charset, Accept-Language$/,
}

test('security headers are on every answer, whatever its status', { timeout: 120_000 }, async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t) })
  const target = await coffer.target()
  const assertHeaders = (status: number, headers: Record<string, string | string[] | undefined>) => {
    for (const [name, pattern] of Object.entries(SECURITY_HEADERS)) {
      assert.match(String(headers[name]), pattern, `${name} of a ${status}`)
    }
  }
  const seen = new Set<number>()
  const check = async (reply: Promise<Reply>) => {
    const { status, headers } = await reply
    seen.add(status)
    assertHeaders(status, headers)
  }
  await check(coffer.call('GET', '/users'))
  await provision(coffer)
  const json = { realName: 'o', role: 'Operator', passphrase: 'operator passphrase' }
  await check(coffer.call('PUT', '/users/operator', { as: ADMIN, json }))
  const operator = 'operator:operator passphrase'
  const { headers } = await coffer.call('GET', '/config/network', { as: ADMIN })
  for (const [method, path, call] of [
    ['GET', '/config/network', { as: ADMIN }],
    ['GET', '/config/network', { as: ADMIN, headers: { 'if-none-match': headers.etag! } }],
    ['HEAD', '/info', {}],
    ['GET', '/nowhere', {}],
    ['GET', '/users', {}],
    ['GET', '/users', { as: operator }],
    ['GET', '/users/nobody', { as: ADMIN }],
    ['GET', '/config/tls/cluster-ca.pem', { as: ADMIN }],
    ['PUT', '/users/operator', { as: ADMIN, json }],
    ['PUT', '/config/network', { as: ADMIN, json: {} }],
    ['PUT', '/config/network', { as: ADMIN, body: '{}', type: 'text/plain' }],
    ['PUT', '/config/tls/cert.pem', { as: ADMIN, body: 'x'.repeat(2_000_000), type: 'application/x-pem-file' }],
    ['PUT', '/config/logging', { as: ADMIN, json: {}, headers: { 'if-match': '"other"' } }],
    ['GET', '/users', { as: ADMIN, accept: 'image/png' }],
    ['DELETE', '/config/network', { as: ADMIN }],
    ['PATCH', '/config/network', { as: ADMIN }],
    ['PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'off' } }],
    ['GET', `/keys?${'x'.repeat(2500)}`, { as: ADMIN }],
  ] as const) {
    await check(coffer.call(method, path, call))
  }
  await check(coffer.call('GET', '/users', { as: 'admin:wrong passphrase', from: '127.0.0.9' }))
  await check(coffer.call('GET', '/users', { as: 'admin:wrong passphrase', from: '127.0.0.9' }))
  await check(request(target, 'GET', '/'))
  await check(request(target, 'GET', '/docs'))
  // What never becomes a request is answered with them, too.
  for (const bytes of [
    'nonsense\r\n\r\n',
    `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    'BREW / HTTP/1.1\r\nhost: h\r\n\r\n',
  ]) {
    const client = await RawClient.connect(target)
    client.send(bytes)
    const answer = await client.answer()
    seen.add(answer!.status)
    assertHeaders(answer!.status, answer!.headers)
    client.destroy()
  }
  const expected = [200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 414, 415, 429, 431, 501]
  assert.deepEqual([...seen].sort(), expected)
})

test('curl follows the plain port to the TLS port', { timeout: 60_000 }, async (t) => {
  const httpPort = await freePort()
  const coffer = startCoffer(t, {
    program,
    data: makeDataDirectory(t),
    settings: { COFFER_HTTP_PORT: String(httpPort) },
  })
  const port = await portOf(coffer)
  const curl = (...options: string[]) => {
    const { status, stdout, stderr } = spawnSync('curl', ['-s', '-S', '-m', '20', ...options])
    assert.equal(status, 0, stderr.toString())
    return stdout.toString()
  }
  const url = `http://127.0.0.1:${httpPort}/api/v1/health/state?x=1`
  const head = curl('-i', url)
  assert.match(head, /^HTTP\/1\.1 301 /)
  assert.match(head, new RegExp(`^location: https://127\\.0\\.0\\.1:${port}/api/v1/health/state\\?x=1\r$`, 'm'))
  assert.doesNotMatch(head, /strict-transport-security/) // RFC 6797 section 7.2
  assert.match(curl('-k', '-L', url), /"state":"Unprovisioned"/)
})

test('a port of plain HTTP that is taken is named by its setting', { timeout: 60_000 }, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.after(() => taken.close())
  const { port } = taken.address() as { port: number }
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_HTTP_PORT: String(port) } })
  assert.equal(await coffer.ended, 1)
  assert.match(coffer.output(), /COFFER_HTTP_PORT chooses another/)
})

const CLIENTS = 20
const RENEWALS: { type: string; length?: number }[] = [
  { type: 'RSA', length: 2048 },
  { type: 'EC_P384' },
  { type: 'Curve25519' },
  { type: 'RSA', length: 3072 },
  { type: 'EC_P256' },
]

test('20 clients sign on over open connections while TLS keys change; new connections get the new certificate', {
  timeout: 240_000,
}, async (t) => {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_LOG: 'error' } })
  const target = await coffer.target()
  await provision(coffer)
  const user = { realName: 'o', role: 'Operator', passphrase: 'operator passphrase' }
  await expect(201, coffer.call('PUT', '/users/operator', { as: ADMIN, json: user }))
  const key = { id: 'k', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const publicPem = (await expect(200, coffer.call('GET', '/keys/k/public.pem', { as: ADMIN }))).text()

  let stopping = false
  const signed = new Array<number>(CLIENTS).fill(0)
  const sockets = new Array<number>(CLIENTS).fill(0)
  const sign = async (client: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const { createConnection } = agent
    agent.createConnection = (...parameters) => {
      sockets[client]!++
      return createConnection.apply(agent, parameters)
    }
    while (!stopping) {
      const message = randomBytes(32)
      const json = { mode: 'EdDSA', message: message.toString('base64') }
      const reply = await request({ ...target, agent }, 'POST', '/api/v1/keys/k/sign', {
        as: 'operator:operator passphrase',
        json,
      })
      assert.equal(reply.status, 200, reply.text())
      const signature = Buffer.from(reply.json<{ signature: string }>().signature, 'base64')
      assert.ok(verify(null, message, publicPem, signature))
      signed[client]!++
    }
    agent.destroy()
  }
  const clients = signed.map((_, client) => sign(client))
  const failure = Promise.all(clients)
  failure.catch(() => {}) // awaited below
  const everybodySigned = async () => {
    const goal = signed.map((count) => count + 3)
    while (signed.some((count, i) => count < goal[i]!)) {
      await Promise.race([failure, new Promise((resolve) => setTimeout(resolve, 10))])
    }
  }

  await everybodySigned()
  const certificates = new Set<string>()
  for (const json of RENEWALS) {
    const open = await RawClient.connect(target)
    const former = open.socket.getPeerX509Certificate()!.fingerprint256
    await generate(coffer, json)
    const served = await expect(200, coffer.call('GET', '/config/tls/cert.pem', { as: ADMIN }))
    const { fingerprint256 } = new X509Certificate(served.text())
    const session = connect({ host: target.host, port: target.port, rejectUnauthorized: false })
    await once(session, 'secureConnect')
    assert.equal(session.getPeerX509Certificate()!.fingerprint256, fingerprint256)
    session.destroy()
    assert.notEqual(fingerprint256, former)
    certificates.add(fingerprint256)
    open.send('GET /api/v1/health/state HTTP/1.1\r\nhost: h\r\n\r\n')
    assert.equal((await open.answer())?.status, 200)
    open.destroy()
    await everybodySigned()
  }
  stopping = true
  await failure
  assert.equal(certificates.size, RENEWALS.length)
  assert.deepEqual(sockets, new Array(CLIENTS).fill(1), 'a connection was dropped')
  t.diagnostic(`${signed.reduce((sum, count) => sum + count, 0)} signatures`)
})

/** openssl's own server, which speaks every version. */
async function laxServer(t: test.TestContext): Promise<number> {
  const { keyPath, certPath } = workshop.issue({ name: 'lax', keyOptions: ['-algorithm', 'RSA'] })
  const port = await freePort()
  const options = ['-key', keyPath, '-cert', certPath, '-cipher', LAX, '-accept', `127.0.0.1:${port}`, '-quiet']
  const child = spawn('openssl', ['s_server', ...options], { stdio: 'ignore' })
  t.after(() => child.kill())
  while (!handshake(port, []).ok) {
    assert.equal(child.exitCode, null)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return port
}
