/**
 * HTTPS to one appliance. Its certificate is checked before the first byte of a request is sent, a passphrase among them:
 * against authorities, or against the one public key that was accepted for it.
 */

import type { KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Agent, RequestOptions } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { defined } from '../../firmware/base/defined.ts'
import type { Request, Transport } from '../../firmware/client/request.ts'
import { EXIT, Failure } from './failure.ts'

export interface Trust {
  pin?: string
  /** A file of certificates. */
  ca?: string
  insecure?: boolean
}

export interface Peer {
  /** `sha256//<base64>` of its public key. */
  pin: string
  /** Its certificate, DER. */
  certificate: Uint8Array
  isTrusted: boolean
}

const BASE = '/api/v1'
const CONNECT_MS_MAX = 15_000

export function createTransport(url: string, trust: Trust): Transport {
  let agent: Promise<Agent> | undefined
  return async (request) => {
    const { request: open } = await import('node:https')
    agent ??= createAgent(url, trust)
    const { hostname, port } = new URL(url)
    const options: RequestOptions = {
      agent: await agent,
      host: bare(hostname),
      port: port || 443,
      method: request.method,
      path: BASE + request.path,
      headers: { ...request.headers, 'content-length': lengthOf(request) },
      ...(request.signal && { signal: request.signal }),
    }
    const { Readable } = await import('node:stream')
    return new Promise<Response>((done, fail) => {
      const outgoing = open(options, (incoming) => {
        const status = defined(incoming.statusCode)
        const isEmpty = status === 204 || status === 304
        if (isEmpty) incoming.resume()
        const headers = new Headers()
        for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value))
        const body = isEmpty ? null : (Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array>)
        done(new Response(body, { status, headers }))
      })
      outgoing.on('error', (error) => fail(unreachable(url, error)))
      const { body } = request
      if (body === undefined || body instanceof Uint8Array) outgoing.end(body)
      else
        Readable.from(body.open())
          .on('error', (error) => {
            outgoing.destroy()
            fail(error)
          })
          .pipe(outgoing)
    })
  }
}

export async function meet(url: string, trust: Trust = {}): Promise<Peer> {
  const socket = await handshake(url, trust)
  try {
    return await peerOf(socket)
  } finally {
    socket.destroy()
  }
}

async function createAgent(url: string, trust: Trust): Promise<Agent> {
  const { Agent } = await import('node:https')
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  agent.createConnection = (_options, done) => {
    handshake(url, trust)
      .then(async (socket) => {
        await admit(url, socket, trust)
        done?.(null, socket)
      })
      .catch((error) => done?.(error, undefined as unknown as TLSSocket))
    return undefined
  }
  return agent
}

async function admit(url: string, socket: TLSSocket, { pin, insecure }: Trust): Promise<void> {
  if (insecure) return
  const peer = await peerOf(socket)
  if (pin !== undefined ? peer.pin === pin : peer.isTrusted) return
  socket.destroy()
  if (pin === undefined)
    throw new Failure(
      EXIT.connection,
      `no authority that is trusted signs for ${url}`,
      `its key is ${peer.pin}; if the appliance’s console shows the same: coffer connect ${url}`,
    )
  throw new Failure(
    EXIT.connection,
    `${url} has another key than before: ${peer.pin} instead of ${pin}. Nothing was sent.`,
    `if it was given a new key, its console shows the new one; then: coffer connect ${url}`,
  )
}

async function handshake(url: string, { ca }: Trust): Promise<TLSSocket> {
  const [{ connect }, { isIP }] = await Promise.all([import('node:tls'), import('node:net')])
  const { hostname, port } = new URL(url)
  const host = bare(hostname)
  const authorities = ca === undefined ? systemAuthorities() : readFileSync(ca)
  return new Promise((done, fail) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      ...(authorities !== undefined && { ca: authorities }),
      rejectUnauthorized: false, // it is asked for afterwards, so that a pin can take the place of an authority
    })
    socket.setTimeout(CONNECT_MS_MAX, () => socket.destroy(new Error('no answer')))
    socket.once('secureConnect', () => {
      socket.setTimeout(0)
      done(socket)
    })
    socket.once('error', (error) => fail(unreachable(url, error)))
  })
}

async function peerOf(socket: TLSSocket): Promise<Peer> {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) throw new Failure(EXIT.connection, 'the appliance has no certificate')
  return {
    pin: await pinOf(certificate.publicKey),
    certificate: certificate.raw,
    isTrusted: socket.authorized,
  }
}

/** As curl's --pinnedpubkey has it. */
export async function pinOf(key: KeyObject): Promise<string> {
  const { createHash } = await import('node:crypto')
  return `sha256//${createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64')}`
}

/** Where systems keep the authorities that they trust; Node’s own otherwise. */
function systemAuthorities(): Buffer | undefined {
  for (const file of ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']) {
    try {
      return readFileSync(file)
    } catch {
      // another system
    }
  }
  return undefined
}

function unreachable(url: string, error: Error): Error {
  if (error instanceof Failure || error.name === 'AbortError') return error
  return new Failure(
    EXIT.connection,
    `no connection to ${url}: ${error.message || (error as NodeJS.ErrnoException).code}`,
  )
}

const lengthOf = ({ body }: Request): number =>
  body === undefined ? 0 : body instanceof Uint8Array ? body.length : body.bytes

/** An IPv6 address without its brackets. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '')
