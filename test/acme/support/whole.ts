/** A whole Coffer that reaches an ACME server on this computer: its process for outgoing connections goes through a proxy. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as tlsConnect } from 'node:tls'
import { freePort } from '../../../tools/free-ports.ts'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, type Ending, makeDataDirectory, startCoffer } from '../../support/process.ts'

const DEADLINE_MS = 120_000 // the machine may be busy, and the server waits in between

export interface Ports {
  appliance: number
  http: number
  chat: number
}

export async function startWhole(t: Ending, ports: Ports, data = makeDataDirectory(t)): Promise<Coffer> {
  return startCoffer(t, {
    program: await buildForTests(),
    data,
    settings: {
      COFFER_PORT: `${ports.appliance}`,
      COFFER_HTTP_PORT: `${ports.http}`,
      COFFER_CHAT_PORT: `${ports.chat}`,
    },
  })
}

export const choosePorts = async (): Promise<Ports> => ({
  appliance: await freePort(),
  http: await freePort(),
  chat: await freePort(),
})

/** Provisioned, and connected to other hosts by a proxy on this computer that trusts `authorities`. */
export async function openWhole(t: Ending, ports: Ports, authorities: string, data?: string): Promise<Coffer> {
  const coffer = await startWhole(t, ports, data)
  await provision(coffer)
  const time = `${new Date().toISOString().slice(0, 19)}Z` // as the server has it
  await expect(204, coffer.call('PUT', '/config/time', { as: ADMIN, json: { time } }))
  const json = { proxy: { host: 'localhost', port: await openProxy(t) }, authorities }
  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json }))
  return coffer
}

/** HTTP CONNECT to this computer, whatever the host. */
export async function openProxy(t: Ending): Promise<number> {
  const server = createServer()
  server.on('connect', (request, socket) => {
    const far = connect(Number(request.url!.split(':').at(-1)), '127.0.0.1')
    far.on('connect', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(far).pipe(socket)
    })
    for (const stream of [socket, far]) stream.on('error', () => [socket, far].map((one) => one.destroy()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

export const setAcme = (coffer: Coffer, json: object) =>
  expect(204, coffer.call('PUT', '/config/acme', { as: ADMIN, json }))

interface AcmeStatus {
  account: string | null
  ports: Record<'appliance' | 'chat', PortStatus>
}

interface PortStatus {
  state: string
  notAfter?: string
  renewAt?: string
  failures: number
  problem?: string
}

export const acmeOf = async (coffer: Coffer): Promise<AcmeStatus> =>
  (await expect(200, coffer.call('GET', '/config/acme', { as: ADMIN }))).json<AcmeStatus>()

export async function untilPort(
  coffer: Coffer,
  port: 'appliance' | 'chat',
  isReached: (status: PortStatus) => boolean,
): Promise<PortStatus> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const status = (await acmeOf(coffer)).ports[port]
    if (isReached(status)) return status
    assert.ok(Date.now() < deadline, `${JSON.stringify(status)}\n${coffer.output()}`)
    await wait(100)
  }
}

/** The certificate that a port shows to an ordinary client. */
export async function certificateAt(port: number, servername = ''): Promise<X509Certificate> {
  const socket = tlsConnect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { raw } = socket.getPeerCertificate()
  socket.destroy()
  return new X509Certificate(raw)
}

export const isForNames = (certificate: X509Certificate, names: readonly string[]): boolean =>
  JSON.stringify(certificate.subjectAltName?.split(', ').sort()) === JSON.stringify(names.map((n) => `DNS:${n}`).sort())
