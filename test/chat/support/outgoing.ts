/** Outgoing requests of a chat in process, as the appliance sends them, but that all hosts are one port of this computer. */

import { connect } from 'node:net'
import type { Post } from '../../../firmware/chat/outgoing/bot-calls.ts'
import { createConnector } from '../../../firmware/outgoing/connect.ts'
import { expectListed } from '../../../firmware/outgoing/hosts.ts'
import { exchange } from '../../../firmware/outgoing/http.ts'
import type { ConnectionSettings } from '../../../firmware/outgoing/link.ts'
import type { NetworkAccess } from '../../../firmware/outgoing/resolve.ts'

export const NO_SETTINGS: ConnectionSettings = {
  onHost: true,
  resolvers: [],
  proxy: null,
  proxyExcept: [],
  authorities: new Uint8Array(0),
  publicAuthorities: true,
}

const PUBLIC = '203.0.113.9' // RFC 5737

/** `hosts` are those that the operator has listed at the moment of a request. */
export function postTo(
  port: number,
  hosts: () => readonly string[],
  resolve: NetworkAccess['resolve'] = async () => [PUBLIC],
): Post {
  const network: NetworkAccess = { resolve, own: () => [], connect: () => connect(port, '127.0.0.1') }
  const connector = createConnector(NO_SETTINGS, network)
  return async ({ url, contentType, body: text, signal }) => {
    expectListed(url, hosts())
    const headers = { 'content-type': contentType, accept: 'application/json' }
    const body = new TextEncoder().encode(text)
    const job = { do: 'http', method: 'POST', url, headers, body, answerHeaders: [], timeoutMs: 10_000 } as const
    const answer = await exchange(connector, job, signal)
    return { status: answer.status, text: new TextDecoder().decode(answer.body) }
  }
}
