// @test long 20
/** The TLS port during tls-alpn-01 (RFC 8737): the challenge's certificate is for handshakes of the authority alone. */

import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { createChallenges } from '../../firmware/acme/challenges.ts'
import { createLog } from '../../firmware/base/log.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

const HANDSHAKES = 1000
const NAME = 'coffer.test'
const AUTHORIZATION = 'token.thumbprint'

async function open(t: TestContext) {
  const shown: string[][] = []
  const challenges = createChallenges(systemRandom, async (list) => {
    shown.push(list.map(({ serverName }) => serverName))
  })
  const identity = await makeTlsIdentity(systemRandom)
  let requests = 0
  const listener = await listenTls({
    app: {
      fetch: () => {
        requests++
        return new Response('served')
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', () => {}),
    now: Date.now,
    challengeFor: challenges.identityFor,
  })
  t.after(() => listener.close())
  const shake = async (options: ConnectionOptions): Promise<TLSSocket> => {
    const socket = connect({ port: listener.port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    return socket
  }
  const authority = (servername: string) => shake({ servername, ALPNProtocols: ['acme-tls/1'] })
  return { challenges, identity, shown, shake, authority, requests: () => requests }
}

const certificateOf = (socket: TLSSocket): X509Certificate => new X509Certificate(socket.getPeerCertificate().raw)

const ORDINARY: ConnectionOptions[] = [
  { servername: NAME },
  { servername: NAME, ALPNProtocols: ['http/1.1'] },
  { servername: '' },
  { servername: NAME, ALPNProtocols: ['h2', 'http/1.1'] },
  { servername: NAME, ALPNProtocols: ['acme-tls/1', 'http/1.1'] }, // RFC 8737 section 3: the one protocol, or no challenge
  { servername: NAME, maxVersion: 'TLSv1.2' },
]

test('a thousand ordinary handshakes get the ordinary certificate, and those of the authority the other', async (t) => {
  const { challenges, identity, shake, authority } = await open(t)
  const withdraw = await challenges.publish('tls-alpn-01', NAME, 'token', AUTHORIZATION)
  const own = new X509Certificate(identity.cert).fingerprint256
  let asked = 0
  for (let done = 0; done < HANDSHAKES; done += 20) {
    const batch = Array.from({ length: 20 }, (_, i) => shake(ORDINARY[(done + i) % ORDINARY.length]!))
    const challenge = await authority(NAME)
    assert.notEqual(certificateOf(challenge).fingerprint256, own)
    challenge.destroy()
    asked++
    for (const socket of await Promise.all(batch)) {
      assert.equal(certificateOf(socket).fingerprint256, own)
      assert.notEqual(socket.alpnProtocol, 'acme-tls/1')
      socket.destroy()
    }
  }
  assert.equal(asked, HANDSHAKES / 20)
  await withdraw()
  await assert.rejects(authority(NAME))
})

test('the certificate of a challenge has the name alone, and the digest in a critical extension', async (t) => {
  const { challenges, authority } = await open(t)
  await challenges.publish('tls-alpn-01', NAME, 'token', AUTHORIZATION)
  const socket = await authority(NAME)
  assert.equal(socket.alpnProtocol, 'acme-tls/1')
  const certificate = certificateOf(socket)
  assert.equal(certificate.subjectAltName, `DNS:${NAME}`)
  const digest = createHash('sha256').update(AUTHORIZATION).digest()
  // OID 1.3.6.1.5.5.7.1.31, TRUE, and the digest as an octet string in an octet string.
  const extension = Buffer.concat([Buffer.from('06082b0601050507011f0101ff042204 20'.replace(' ', ''), 'hex'), digest])
  assert.ok(certificate.raw.includes(extension))
})

test('no request is served on a connection of the authority, and another name ends the handshake', async (t) => {
  const { challenges, authority, requests } = await open(t)
  await challenges.publish('tls-alpn-01', NAME, 'token', AUTHORIZATION)
  const socket = await authority(NAME)
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: coffer.test\r\n\r\n')
  socket.resume()
  await once(socket, 'close')
  assert.equal(requests(), 0)
  await assert.rejects(authority('other.test'))
})

test('an address is asked for by its name of reverse DNS', async (t) => {
  const { challenges, authority, shown } = await open(t)
  for (const [address, serverName, name] of [
    ['192.0.2.7', '7.2.0.192.in-addr.arpa', 'IP Address:192.0.2.7'],
    [
      '2001:db8::1',
      '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
      'IP Address:2001:DB8:0:0:0:0:0:1',
    ],
  ] as const) {
    const withdraw = await challenges.publish('tls-alpn-01', address, 'token', AUTHORIZATION)
    assert.deepEqual(shown.at(-1), [serverName])
    const socket = await authority(serverName)
    assert.equal(certificateOf(socket).subjectAltName, name)
    socket.destroy()
    await withdraw()
    assert.deepEqual(shown.at(-1), [])
  }
})
