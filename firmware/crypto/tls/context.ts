/** TLS settings: 1.2 and 1.3 with forward secrecy and authenticated encryption only. RFC 9325. */

import { constants } from 'node:crypto'
import { once } from 'node:events'
import { duplexPair } from 'node:stream'
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls'
import { CofferError } from '../../base/error.ts'
import type { TlsIdentity } from './identity.ts'

/** All ciphers of TLS 1.3 have both properties, and these of TLS 1.2. */
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

const HANDSHAKE_MS_MAX = 10_000 // one signature of an RSA key of 8192 bits takes a tenth of a second

/** Performs a handshake inside this process. Throws CofferError `invalid` if it fails, since no client could connect then. */
export async function assertServable(identity: TlsIdentity): Promise<void> {
  const [near, far] = duplexPair()
  const timeout = AbortSignal.timeout(HANDSHAKE_MS_MAX)
  const sockets: TLSSocket[] = []
  try {
    const server = new TLSSocket(near, { isServer: true, secureContext: createSecureContext(contextOptions(identity)) })
    sockets.push(server)
    const client = connect({ socket: far, rejectUnauthorized: false })
    sockets.push(client)
    for (const socket of sockets) socket.on('error', () => {}) // the second one may fail after the first
    await Promise.all([once(server, 'secure', { signal: timeout }), once(client, 'secureConnect', { signal: timeout })])
  } catch (error) {
    throw new CofferError('invalid', `TLS cannot be served with this key and certificate${reasonOf(error)}`)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

/** OpenSSL's reasons are fixed texts, such as `ee key too small`. */
function reasonOf(error: unknown): string {
  const { reason } = error as { reason?: unknown }
  return typeof reason === 'string' ? `: ${reason}` : ''
}
