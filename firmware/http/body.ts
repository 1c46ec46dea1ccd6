/** Request bodies: read within bounds of size, memory and time, then parsed. RFC 8259; contract sections 1.1 and 1.5. */

import type { Readable } from 'node:stream'
import type { z } from 'zod'
import { ownsMemory, releaseSecret } from '../crypto/secret.ts'
import { CofferError } from '../error.ts'
import type { Body } from './endpoint.ts'

export const BODY_BYTES_MAX = 1024 * 1024

/** What the declaration allows; streamed bodies have no limit. */
export const bodyBytesMax = (body: Body<unknown> | undefined): number =>
  body?.kind === 'stream' ? Number.POSITIVE_INFINITY : (body?.bytesMax ?? BODY_BYTES_MAX)

export interface BodyLimits {
  /** A body may take this long however small it is. */
  graceMs: number
  /** After the grace, a body must have come at this rate on average. */
  bytesPerSecondMin: number
  /** All bodies being read at the same time, so that large ones cannot exhaust the memory together. */
  totalBytesMax: number
}

export const BODY_LIMITS: BodyLimits = {
  graceMs: 10_000,
  bytesPerSecondMin: 16 * 1024, // a bad mobile link; 67 MiB may take over an hour
  totalBytesMax: 320 * 1024 * 1024, // four of the largest
}

const PACE_CHECK_MS = 500

export interface BodyReader {
  /** The whole body. Throws `tooLarge`, `timeout`, `busy`, or `invalid` when the client goes away. */
  read(stream: Readable, bytesMax: number): Promise<Uint8Array<ArrayBuffer>>
  /**
   * The body piece by piece; the client is held back while nobody asks for the next one. `open` is called when the first
   * is asked for. Throws `timeout`, or `invalid` when the client goes away.
   */
  stream(open: () => Readable): AsyncGenerator<Uint8Array, void>
}

/** A body being read. */
interface Reading {
  /** How long the client has had so far. */
  elapsedMs: () => number
  receivedBytes: number
  refuse: (error: CofferError) => void
}

export function createBodyReader(limits: BodyLimits): BodyReader {
  const readings = new Set<Reading>()
  let totalBytes = 0
  let pace: NodeJS.Timeout | undefined

  async function read(stream: Readable, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const startedMs = performance.now()
    const reading: Reading = { elapsedMs: () => performance.now() - startedMs, receivedBytes: 0, refuse: reject }
    let whole = new Uint8Array()
    const onData = (chunk: Uint8Array) => {
      const begin = reading.receivedBytes
      reading.receivedBytes += chunk.length
      totalBytes += chunk.length
      if (reading.receivedBytes > bytesMax) reject(tooLarge(bytesMax))
      else if (totalBytes > limits.totalBytesMax) reject(new CofferError('busy', 'Too many large requests at once'))
      else if (begin === 0 && ownsMemory(chunk)) {
        whole = new Uint8Array(chunk.buffer) // most bodies come in one piece; as no Buffer, whose slices share memory
        return
      } else {
        if (reading.receivedBytes > whole.length) whole = grow(whole, Math.max(reading.receivedBytes, 2 * begin))
        whole.set(chunk, begin)
      }
      chunk.fill(0) // it may hold a passphrase
    }
    const onClose = () => {
      if (!stream.readableEnded) reject(endedEarly())
    }
    stream.on('data', onData).on('end', resolve).on('error', onClose).on('close', onClose)
    watch(reading)
    try {
      await promise
      return whole.subarray(0, reading.receivedBytes)
    } catch (error) {
      release(whole)
      throw error
    } finally {
      readings.delete(reading)
      totalBytes -= reading.receivedBytes
      stream.off('data', onData).off('end', resolve).off('close', onClose)
      // The error listener stays: a connection that breaks later must not end the process.
    }
  }

  async function* stream(open: () => Readable): AsyncGenerator<Uint8Array, void> {
    const source = open()
    const chunks: Uint8Array[] = []
    let ended = false
    let failure: CofferError | undefined
    let arrived = Promise.withResolvers<void>()
    let waitingSinceMs: number | null = null
    let waitedMs = 0
    // The time the handler takes for what it has been given is not the client's.
    const elapsedMs = () => waitedMs + (waitingSinceMs === null ? 0 : performance.now() - waitingSinceMs)
    const refuse = (error: CofferError) => {
      failure ??= error
      arrived.resolve()
    }
    const reading: Reading = { elapsedMs, receivedBytes: 0, refuse }
    const onData = (chunk: Uint8Array) => {
      source.pause()
      chunks.push(chunk)
      reading.receivedBytes += chunk.length
      arrived.resolve()
    }
    const onEnd = () => {
      ended = true
      arrived.resolve()
    }
    const onClose = () => {
      if (!ended) refuse(endedEarly())
    }
    source.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose)
    watch(reading)
    try {
      for (;;) {
        const chunk = chunks.shift()
        if (chunk !== undefined) yield chunk
        else if (failure !== undefined) throw failure
        else if (ended) return
        else {
          arrived = Promise.withResolvers()
          waitingSinceMs = performance.now()
          source.resume()
          await arrived.promise
          waitedMs = elapsedMs()
          waitingSinceMs = null
        }
      }
    } finally {
      readings.delete(reading)
      source.off('data', onData).off('end', onEnd).off('close', onClose)
      source.resume() // nobody wants the rest
    }
  }

  function watch(reading: Reading): void {
    readings.add(reading)
    pace ??= setInterval(checkPace, Math.min(PACE_CHECK_MS, limits.graceMs))
  }

  /** One timer for all: it runs while there is anything to watch. */
  function checkPace(): void {
    if (readings.size === 0) {
      clearInterval(pace)
      pace = undefined
    }
    for (const { elapsedMs, receivedBytes, refuse } of readings) {
      const lateMs = elapsedMs() - limits.graceMs
      if (lateMs > 0 && receivedBytes < (lateMs / 1000) * limits.bytesPerSecondMin)
        refuse(new CofferError('timeout', 'The request body came too slowly'))
    }
  }

  return { read, stream }
}

const endedEarly = () => new CofferError('invalid', 'The request body ended early')

/** What is not written yet takes no memory. */
function grow(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  release(bytes)
  return larger
}

/** Without effect the second time. */
export function release(body: Uint8Array<ArrayBuffer>): void {
  if (!body.buffer.detached) releaseSecret(new Uint8Array(body.buffer)) // which may be longer than what came
}

export const tooLarge = (bytesMax: number) =>
  new CofferError('tooLarge', `The request body is larger than ${bytesMax} bytes`)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** RFC 8259 and nothing more lenient. */
export const parseJson = (bytes: Uint8Array): unknown => parseText(readText(bytes))

export function readText(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new CofferError('invalid', 'The request body is empty')
  try {
    return utf8.decode(bytes)
  } catch {
    throw new CofferError('invalid', 'The request body is not UTF-8')
  }
}

/** Nesting costs no stack: the runtime's parser is iterative and schemas are flat. */
export function parseText(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    throw new CofferError('invalid', 'The request body is not JSON')
  }
}

/** The parsed value; throws `invalid` with a message that names the member and never quotes its value. */
export function matchSchema<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new CofferError('invalid', explain(parsed.error.issues[0], what))
}

/** A name sent by the client appears in the message up to this length. */
const NAME_MAX = 64

function explain(issue: z.core.$ZodIssue | undefined, what: string): string {
  if (issue === undefined) return `${what}: not valid`
  const member = issue.path.length === 0 ? what : issue.path.map((part) => String(part).slice(0, NAME_MAX)).join('.')
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.slice(0, 4).map((name) => JSON.stringify(name.slice(0, NAME_MAX)))
    return `${member}: unknown ${names.length > 1 ? 'members' : 'member'} ${names.join(', ')}`
  }
  return `${member}: ${issue.message}`
}
