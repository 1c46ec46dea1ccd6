/** The attacked appliance: the bundle in a process as a device of 512 MB starts it, its console at hand, on loopback. Linux only. */

import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { heapFor } from '../../boot/device/early.ts'
import { createSupervisor } from '../../boot/supervisor/supervisor.ts'
import { defined } from '../../firmware/base/defined.ts'
import type { ToBoot } from '../../firmware/channel/protocol.ts'
import { residentMib } from '../bench/harness.ts'

const DEVICE_BYTES = 512 * 1024 * 1024
const START_MS_MAX = 30_000
const ANSWER_MS_MAX = 30_000
const PIECE_BYTES = 256 * 1024

export const UNLOCK = 'unlock passphrase of the attack'
export const ADMIN = 'admin:admin passphrase of the attack'
export const OPERATOR = 'operator:operator passphrase of the attack'
export const OWNER = 30 // the last byte of the owner's address
export const SIGN = { mode: 'EdDSA', message: Buffer.alloc(32, 1).toString('base64') }

export interface Outcome {
  held: boolean
  figures: string
}

export interface Attack {
  name: string
  run(target: Target): Promise<Outcome>
}

interface TargetReply {
  status: number
  bytes: Buffer
}

interface AskTarget {
  as?: string
  /** The client's address: `127.0.0.n`. */
  from?: number
  json?: unknown
  body?: string | Buffer
  headers?: Record<string, string>
  /** On this connection, which is one of `connect`, instead of a new one. */
  on?: TLSSocket
}

export interface Target {
  readonly port: number
  readonly crashes: number
  call(method: string, path: string, ask?: AskTarget): Promise<TargetReply>
  /** At the console; `unlocked` when it was right. */
  unlockAtConsole(passphrase: string): Promise<string>
  residentMib(): number
  connect(from: number): Promise<TLSSocket>
  raw(from: number): Promise<Raw>
  stop(): Promise<void>
}

export interface Raw {
  readonly socket: TLSSocket
  readonly statuses: ReadonlyMap<number, number>
}

/** `bundle` has the programs, `directory` gets a fresh store. */
export async function startTarget(bundle: string, directory: string): Promise<Target> {
  const storeDirectory = join(directory, 'store')
  mkdirSync(storeDirectory, { recursive: true })
  const messages: ToBoot[] = []
  let crashes = 0
  let crashesSeen = 0
  let port = 0 // another one after each start
  const supervisor = createSupervisor({
    command: () => ({
      serves: 'firmware',
      launcher: [],
      program: join(bundle, 'firmware.js'),
      readable: [`${bundle}/`],
      storeDirectory,
      heapMegabytes: heapFor(DEVICE_BYTES),
    }),
    lock: null,
    startMessage: () => ({
      type: 'start',
      settings: {
        dataDirectory: storeDirectory,
        host: '127.0.0.1',
        port: 0,
        httpPort: null,
        logLevel: 'info',
        releaseKey: null,
      },
      deviceKey: new Uint8Array(32).fill(7),
      software: { trial: false, fallback: null },
    }),
    onMessage: (message) => {
      messages.push(message)
      if (message.type === 'listening') port = message.port
    },
    onCrash: () => {
      crashes++
    },
    onLines: () => {},
  })
  supervisor.start()
  const received = async <T extends ToBoot['type']>(type: T): Promise<Extract<ToBoot, { type: T }>> => {
    for (let ms = 0; ms < START_MS_MAX; ms += 10) {
      const at = messages.findIndex((message) => message.type === type)
      if (at !== -1) return messages.splice(at, 1)[0] as Extract<ToBoot, { type: T }>
      await wait(10)
    }
    throw new Error(`The firmware has not said: ${type}`)
  }
  await received('listening')
  return {
    get port() {
      return port
    },
    get crashes() {
      return crashes
    },
    call: (method, path, ask) => call(port, method, path, ask),
    unlockAtConsole: async (passphrase) => {
      if (crashesSeen < crashes) await received('listening')
      crashesSeen = crashes
      supervisor.unlock(new TextEncoder().encode(passphrase))
      return (await received('unlockResult')).result
    },
    residentMib: () => residentMib(firmwareOf(storeDirectory)),
    connect: (from) => openTls(port, from),
    raw: (from) => openRaw(port, from),
    stop: async () => {
      await supervisor.stop()
    },
  }
}

export const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`

/** One request on a connection that ends with it. Rejects when it breaks or is not answered. */
function call(port: number, method: string, path: string, { as, from = 1, json, body, headers, on }: AskTarget = {}) {
  const content = json === undefined ? body : JSON.stringify(json)
  return new Promise<TargetReply>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: `127.0.0.${from}`,
        method,
        path: `/api/v1${path}`,
        ...(on === undefined ? { agent: false } : { createConnection: () => on }),
        rejectUnauthorized: false,
        timeout: ANSWER_MS_MAX,
        headers: {
          ...(as !== undefined && { authorization: basic(as) }),
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...(content !== undefined && { 'content-length': Buffer.byteLength(content) }),
          ...headers,
        },
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('error', reject)
        answer.once('end', () => resolve({ status: defined(answer.statusCode), bytes: Buffer.concat(chunks) }))
      },
    )
    sent.once('timeout', () => sent.destroy(new Error('no answer')))
    sent.once('error', reject)
    if (content === undefined || content.length < PIECE_BYTES) sent.end(content)
    else Readable.from(pieces(Buffer.from(content))).pipe(sent)
  })
}

/** A whole of many megabytes is encrypted in one turn, in which the other clients of this program stand still. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}

/** As far as this program may open sockets. What breaks later is no error of the caller's. */
function openTls(port: number, from: number): Promise<TLSSocket> {
  const options = { host: '127.0.0.1', port, localAddress: `127.0.0.${from}`, rejectUnauthorized: false }
  const socket = connect(options as ConnectionOptions)
  return new Promise((resolve, reject) => {
    socket.once('error', reject).once('secureConnect', () => {
      socket.off('error', reject).on('error', () => {})
      resolve(socket)
    })
  })
}

async function openRaw(port: number, from: number): Promise<Raw> {
  const statuses = new Map<number, number>()
  const socket = await openTls(port, from)
  let rest = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    rest += text
    for (const [, status] of rest.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1)
    }
    rest = /HTT?P?\/?1?\.?1? ?\d{0,2}$/.exec(rest)?.[0] ?? '' // a status that came in two pieces
  })
  return { socket, statuses }
}

function firmwareOf(storeDirectory: string): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`--allow-fs-write=${storeDirectory}`))
        return Number(pid)
    } catch {
      // It has ended.
    }
  }
  throw new Error('The firmware does not run')
}

export const settled = async <T>(promise: Promise<T>): Promise<T | null> => promise.catch(() => null)

export function destroyAll(sockets: readonly (Socket | undefined)[]): void {
  for (const socket of sockets) socket?.destroy()
}
