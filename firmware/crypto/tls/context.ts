/** How TLS is spoken: 1.2 and 1.3, forward secrecy and authenticated encryption only. RFC 9325. */

import { constants } from 'node:crypto'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import { CofferError } from '../../base/error.ts'
import type { TlsIdentity } from './identity.ts'

/** Those of TLS 1.3 all have both properties; of the others these do. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
].join(':')

export const contextOptions = ({ key, cert }: TlsIdentity): SecureContextOptions => ({
  key: Buffer.from(key.buffer, key.byteOffset, key.length),
  cert,
  minVersion: 'TLSv1.2',
  ciphers: CIPHERS,
  honorCipherOrder: true,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
})

const HANDSHAKE_MS_MAX = 10_000 // an RSA key of 8192 bits signs once, a tenth of a second

/** Shakes hands with a client inside this process; throws `invalid` when that fails: nobody could connect any more. */
export async function assertServable(identity: TlsIdentity): Promise<void> {
  const [near, far] = duplexPair()
  const timeout = AbortSignal.timeout(HANDSHAKE_MS_MAX)
  const sockets: TLSSocket[] = []
  try {
    const server = new TLSSocket(near, { isServer: true, secureContext: createSecureContext(contextOptions(identity)) })
    sockets.push(server)
    const client = connect({ socket: far, rejectUnauthorized: false })
    sockets.push(client)
    for (const socket of sockets) socket.on('error', () => {}) // the other one may fail after the first has
    await Promise.all([once(server, 'secure', { signal: timeout }), once(client, 'secureConnect', { signal: timeout })])
  } catch (error) {
    throw new CofferError('invalid', `TLS cannot be served with this key and certificate${reasonOf(error)}`)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/** Reasons of OpenSSL are fixed texts, e.g. `ee key too small`. */
function reasonOf(error: unknown): string {
  const { reason } = error as { reason?: unknown }
  return typeof reason === 'string' ? `: ${reason}` : ''
}
