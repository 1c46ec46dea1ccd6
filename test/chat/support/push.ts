/** A push service over TLS, browsers that subscribe to it, and the way of a notification from the chat to it as the appliance has it. */

import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { after } from 'node:test'
import { createChatOutgoing } from '../../../firmware/chat/host/outgoing.ts'
import type { WebPushSettings } from '../../../firmware/chat/link/web-push.ts'
import { createOutgoingRequests } from '../../../firmware/chat/process/outgoing-requests.ts'
import type { DeviceRecords } from '../../../firmware/configuration/device-records.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import type { OutgoingClient } from '../../../firmware/outgoing/client.ts'
import { createConnector } from '../../../firmware/outgoing/connect.ts'
import { expectListed } from '../../../firmware/outgoing/hosts.ts'
import { exchange } from '../../../firmware/outgoing/http.ts'
import { NO_SETTINGS } from './outgoing.ts'

export const PUSH_HOST = 'push.example.org'

interface ReceivedPush {
  path: string
  method: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: Buffer
}

interface PushService {
  readonly received: ReceivedPush[]
  /** Settings of the operator. */
  settings: WebPushSettings | null
  answer: (push: ReceivedPush) => { status: number; headers?: Record<string, string> } | Promise<{ status: number }>
  /** Addresses of all hosts. */
  addresses: readonly string[]
  readonly requests: ReturnType<typeof createOutgoingRequests>
}

/** Await it at the top level of a file: it ends after the last test. */
export async function openPushService(): Promise<PushService> {
  const identity = await makeTlsIdentity(systemRandom, undefined, [PUSH_HOST, `a.${PUSH_HOST}`])
  const service: PushService = {
    received: [],
    settings: { hosts: [PUSH_HOST], contact: 'mailto:operator@example.org', content: false },
    answer: () => ({ status: 201 }),
    addresses: ['203.0.113.9'], // RFC 5737
    requests: createOutgoingRequests((message) => {
      if (message.type === 'cancelRequest') return
      void outgoing
        .perform(message.request, new AbortController().signal)
        .then((response) => service.requests.hear({ type: 'response', id: message.id, response }))
    }),
  }
  const server = createServer({ key: Buffer.from(identity.key), cert: identity.cert }, async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const push = {
      path: request.url!,
      method: request.method!,
      headers: request.headers,
      body: Buffer.concat(pieces),
    }
    service.received.push(push)
    const { status, headers = {} } = (await service.answer(push)) as { status: number; headers?: object }
    response.writeHead(status, headers as Record<string, string>).end()
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const connector = createConnector(
    { ...NO_SETTINGS, authorities: Buffer.from(identity.cert), publicAuthorities: false },
    { resolve: async () => service.addresses, own: () => [], connect: () => connect(port, '127.0.0.1') },
  )
  const client = {
    http: async (job, { hosts, signal }) =>
      exchange(
        connector,
        { ...job, url: expectListed(job.url, hosts), do: 'http' },
        signal ?? AbortSignal.timeout(60_000),
      ),
  } as OutgoingClient
  // As the appliance stores them, but in memory.
  const area = { get: () => Buffer.from(JSON.stringify(service.settings)) }
  const records = { read: (_: string, read: (area: object) => unknown) => read(area) } as unknown as DeviceRecords
  const outgoing = createChatOutgoing(records, client)
  return service
}

/** A browser's end of a subscription: RFC 8291. */
export function newBrowser(path: string, host = PUSH_HOST) {
  const pair = createECDH('prime256v1')
  const publicKey = pair.generateKeys()
  const auth = randomBytes(16)
  return {
    path,
    privateKey: pair.getPrivateKey(),
    auth,
    subscription: {
      endpoint: `https://${host}${path}`,
      p256dh: publicKey.toString('base64url'),
      auth: auth.toString('base64url'),
    },
    // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any notification
    open(body: Buffer): any {
      const salt = body.subarray(0, 16)
      const sender = body.subarray(21, 86)
      const derive = (secret: Uint8Array, by: Uint8Array, info: Buffer, bytes: number) =>
        Buffer.from(hkdfSync('sha256', secret, by, info, bytes))
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, sender])
      const secret = derive(pair.computeSecret(sender), auth, info, 32)
      const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
      const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
      const decipher = createDecipheriv('aes-128-gcm', key, nonce)
      decipher.setAuthTag(body.subarray(-16))
      const padded = Buffer.concat([decipher.update(body.subarray(86, -16)), decipher.final()])
      return JSON.parse(padded.subarray(0, padded.lastIndexOf(2)).toString())
    },
  }
}
