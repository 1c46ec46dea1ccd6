/** The ACME server of the tests over TLS, behind a proxy that leads to it whatever the host, and a whole Coffer that orders from it. */

import { once } from 'node:events'
import { createServer as createProxy } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, type Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import type { HttpJob } from '../../../firmware/outgoing/link.ts'
import { Workshop } from '../../configuration/authority.ts'
import { ADMIN, type Client, expect } from '../../support/appliance.ts'
import type { Ending } from '../../support/process.ts'
import { type Ca, createCa, DIRECTORY } from './ca.ts'
import { leafExtensions, validity } from './rig.ts'

const DAY_MS = 86_400_000

interface ServedCa {
  ca: Ca
  /** Members of `PUT /config/outgoing` that lead to it. */
  outgoing: { proxy: { host: string; port: number }; authorities: string }
}

export async function serveCa(t: Ending): Promise<ServedCa> {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const root = workshop.root('Root')
  const authority = workshop.authority('Authority', root)
  const ca = createCa((csr, names) => {
    const now = Date.now()
    const dates = validity(now - 3_600_000, now + 90 * DAY_MS)
    const extensions = leafExtensions(names)
    return `${workshop.issue({ name: 'leaf', csr, issuer: authority, extensions, validity: dates }).pem}${authority.pem}`
  })
  const { hostname } = new URL(DIRECTORY)
  const { key, cert } = await makeTlsIdentity(systemRandom, hostname, [hostname])
  const server = createServer({ key: Buffer.from(key), cert }, async (request, response) => {
    const { method, url = '' } = request
    const body = await buffer(request)
    const job = { method, url: `https://${hostname}${url}`, headers: {}, body, answerHeaders: [], timeoutMs: 0 }
    const answer = await ca.send(job as Omit<HttpJob, 'do'>, [hostname], AbortSignal.any([]))
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  const open = async (one: Server): Promise<number> => {
    one.listen(0, '127.0.0.1')
    await once(one, 'listening')
    t.after(() => one.close())
    return (one.address() as AddressInfo).port
  }
  const serverPort = await open(server)
  const proxy = createProxy().on('connect', (_, socket) => {
    const far = connect(serverPort, '127.0.0.1')
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(far).pipe(socket)
    for (const stream of [socket, far]) stream.on('error', () => [socket, far].map((one) => one.destroy()))
  })
  const port = await open(proxy)
  return { ca, outgoing: { proxy: { host: 'localhost', port }, authorities: `${root.pem}${cert}` } }
}

/** Lets a provisioned appliance reach the server. */
export async function joinCa(coffer: Client, { outgoing }: ServedCa): Promise<void> {
  const time = `${new Date().toISOString().slice(0, 19)}Z` // as the server has it
  await expect(204, coffer.call('PUT', '/config/time', { as: ADMIN, json: { time } }))
  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json: outgoing }))
}
