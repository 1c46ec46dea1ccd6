/** pebble, the ACME server of Let's Encrypt for tests, with its server of names, which says that all names are this computer. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { freePort } from '../../../tools/free-ports.ts'
import type { Ending } from '../../support/process.ts'
import { acmeServer } from '../../support/tools.ts'

const DEADLINE_MS = 30_000 // the machine may be busy

interface Pebble {
  directory: string
  /** PEM of the certificate of its port and of its root: authorities for outgoing connections. */
  authorities: string
  /** All printed text. */
  output(): string
  /** Answer of its port for tests. */
  manage(method: string, path: string, json?: object): Promise<string>
}

interface PebbleOptions {
  /** Ports that challenges are asked at. */
  httpPort: number
  tlsPort: number
  environment?: Record<string, string>
  /** Members of its configuration. */
  settings?: object
}

export async function startPebble(
  t: Ending,
  { httpPort, tlsPort, environment = {}, settings = {} }: PebbleOptions,
): Promise<Pebble> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-pebble-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const [acme, management, dns, dnsManagement] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  const { key, cert } = await makeTlsIdentity(systemRandom, 'localhost', ['localhost'])
  const [certificate, privateKey] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  writeFileSync(certificate, cert)
  writeFileSync(privateKey, key)
  const pebble = {
    listenAddress: `127.0.0.1:${acme}`,
    managementListenAddress: `127.0.0.1:${management}`,
    certificate,
    privateKey,
    httpPort,
    tlsPort,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
    retryAfter: { authz: 1, order: 1 },
    keyAlgorithm: 'ecdsa',
    profiles: {
      default: { description: 'ninety days', validityPeriod: 7_776_000 },
      shortlived: { description: 'six days', validityPeriod: 518_400 },
    },
    ...settings,
  }
  writeFileSync(join(directory, 'config.json'), JSON.stringify({ pebble }))
  let output = ''
  const start = (name: 'pebble' | 'pebble-challtestsrv', parameters: readonly string[]): void => {
    const child = spawn(acmeServer(name).program, parameters, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: directory, ...environment },
    })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    t.after(() => child.kill('SIGKILL'))
  }
  const off = ['http01', 'https01', 'tlsalpn01', 'doh'].flatMap((service) => [`-${service}`, ''])
  const names = ['-defaultIPv6', '', '-dnsserver', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`]
  start('pebble-challtestsrv', [...names, ...off])
  start('pebble', ['-config', join(directory, 'config.json'), '-dnsserver', `127.0.0.1:${dns}`])
  const deadline = Date.now() + DEADLINE_MS
  for (const port of [dns, acme, management])
    while (!(await answers(port))) {
      assert.ok(Date.now() < deadline, output)
      await wait(20)
    }
  const manage = (method: string, path: string, json?: object): Promise<string> =>
    new Promise((resolve, reject) => {
      const place = { host: '127.0.0.1', port: management, servername: 'localhost', ca: cert, method, path }
      const headers = { host: 'localhost', 'user-agent': 'tests' } // pebble refuses requests without one
      const asked = request({ ...place, headers }, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString()
        if (response.statusCode === 200) resolve(text)
        else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`))
      })
      asked.on('error', reject).end(json === undefined ? undefined : JSON.stringify(json))
    })
  return {
    directory: `https://localhost:${acme}/dir`,
    authorities: `${cert}${await manage('GET', '/roots/0')}`,
    output: () => output,
    manage,
  }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
