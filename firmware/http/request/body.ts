/** Request bodies: read within bounds of size, memory and time. Contract section 1.5. */

import type { Readable } from 'node:stream'
import type { Check } from '../../base/admission.ts'
import { CofferError } from '../../base/error.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import { ownsMemory, wipe, wipeAndFree } from '../../base/secret.ts'

export const BODY_BYTES_MAX = MIB

export interface BodyLimits {
  /** How long nothing may come, and how far a body may fall behind the least rate. */
  graceMs: number
  bytesPerSecondMin: number
  /** All bodies being read at the same time, so that large ones cannot exhaust the memory together. */
  totalBytesMax: number
  /** Of each body, so much does not count there: large ones of others keep nobody from signing, or from unlocking. */
  smallBytes: number
  /** A body of a request without credentials, however quickly it comes. */
  anonymousMs: number
  /** The same for one that is streamed. */
  anonymousStreamMs: number
}

export const BODY_LIMITS: BodyLimits = {
  graceMs: 10_000,
  bytesPerSecondMin: 16 * 1024, // a bad mobile link; 67 MiB may take over an hour
  totalBytesMax: memoryFor(1 / 2, 68 * MIB, 320 * MIB), // four of the largest, or one on a small device
  smallBytes: 16 * 1024,
  anonymousMs: 30_000, // two passphrases and a time
  anonymousStreamMs: 600_000, // the backup of a million keys at 2 MB/s
}

const PACE_CHECK_MS = 500

/** Under which a body is waited for. */
export interface Terms {
  /** Throws when the request is admitted no longer; asked as often as the pace. */
  check: Check
  /** In all. */
  withinMs: number
}

const ANY_TERMS: Terms = { check: () => {}, withinMs: Number.POSITIVE_INFINITY }

/** A body piece by piece, to be iterated once. */
export interface Upload extends AsyncGenerator<Uint8Array, void> {
  /** Whoever waits for the next piece gets this error instead. */
  refuse(error: CofferError): void
}

export interface BodyReader {
  /** The whole body. Throws `tooLarge`, `timeout`, `busy`, what `terms` say, or `invalid` when the client goes away. */
  read(stream: Readable, bytesMax: number, terms?: Terms): Promise<Uint8Array<ArrayBuffer>>
  /** The same, piece by piece. Throws what `take` throws, too. */
  feed(stream: Readable, bytesMax: number, take: Take, terms?: Terms): Promise<void>
  /**
   * The client is held back while nobody asks for the next piece. `open` is called when the first is asked for. Throws
   * `timeout`, what `terms` say, or `invalid` when the client goes away.
   */
  stream(open: () => Readable, terms?: Terms): Upload
  /** Asks now whether the requests of all bodies on their way are still admitted. */
  recheck(): void
}

/** What it does not keep is wiped. */
type Take = (piece: Uint8Array) => 'taken' | 'kept'

/** A body being read. */
interface Reading {
  terms: Terms
  /** How long the client has had so far. */
  elapsedMs: () => number
  receivedBytes: number
  refuse: (error: CofferError) => void
  /** How much longer nothing may come; what comes at the least rate keeps it as it is. */
  creditMs: number
  /** Up to when, and up to which byte, that has been reckoned. */
  reckonedMs: number
  reckonedBytes: number
}

export function createBodyReader(limits: BodyLimits): BodyReader {
  const readings = new Set<Reading>()
  let totalBytes = 0
  let paceTimer: NodeJS.Timeout | undefined

  async function read(stream: Readable, bytesMax: number, terms?: Terms): Promise<Uint8Array<ArrayBuffer>> {
    let whole = new Uint8Array()
    let length = 0
    const take: Take = (piece) => {
      const begin = length
      length += piece.length
      if (begin === 0 && ownsMemory(piece)) {
        whole = new Uint8Array(piece.buffer) // most bodies come in one piece; as no Buffer, whose slices share memory
        return 'kept'
      }
      if (length > whole.length) whole = grow(whole, Math.max(length, 2 * begin))
      whole.set(piece, begin)
      return 'taken'
    }
    try {
      await feed(stream, bytesMax, take, terms)
      return whole.subarray(0, length)
    } catch (error) {
      wipeBody(whole)
      throw error
    }
  }

  async function feed(stream: Readable, bytesMax: number, take: Take, terms = ANY_TERMS): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const startedMs = performance.now()
    let isRefused = false
    const refuse = (error: unknown) => {
      isRefused = true
      reject(error)
    }
    const reading = watch(terms, () => performance.now() - startedMs, refuse)
    const onData = (chunk: Uint8Array) => {
      const before = large(reading)
      reading.receivedBytes += chunk.length
      const more = large(reading) - before
      totalBytes += more
      try {
        if (reading.receivedBytes > bytesMax) throw tooLarge(bytesMax)
        if (more > 0 && totalBytes > limits.totalBytesMax)
          throw new CofferError('busy', 'Too many large requests at once')
        if (!isRefused && take(chunk) === 'kept') return
      } catch (error) {
        refuse(error)
      }
      wipe(chunk) // it may hold a passphrase
    }
    const onClose = () => {
      if (!stream.readableEnded) refuse(endedEarly())
    }
    stream.on('data', onData).on('end', resolve).on('error', onClose).on('close', onClose)
    try {
      await promise
    } finally {
      readings.delete(reading)
      totalBytes -= large(reading)
      stream.off('data', onData).off('end', resolve).off('close', onClose)
      // The error listener stays: a connection that breaks later must not end the process.
    }
  }

  const large = ({ receivedBytes }: Reading) => Math.max(0, receivedBytes - limits.smallBytes)

  function stream(open: () => Readable, terms = ANY_TERMS): Upload {
    let failure: CofferError | undefined
    let arrived = Promise.withResolvers<void>()
    const refuse = (error: CofferError) => {
      failure ??= error
      arrived.resolve()
    }

    async function* pieces(): AsyncGenerator<Uint8Array, void> {
      const source = open()
      const chunks: Uint8Array[] = []
      let ended = false
      let waitingSinceMs: number | null = null
      let waitedMs = 0
      // The time the handler takes for what it has been given is not the client's.
      const elapsedMs = () => waitedMs + (waitingSinceMs === null ? 0 : performance.now() - waitingSinceMs)
      const reading = watch(terms, elapsedMs, refuse)
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
      try {
        for (;;) {
          terms.check()
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

    return Object.assign(pieces(), { refuse })
  }

  function watch(terms: Terms, elapsedMs: () => number, refuse: (error: CofferError) => void): Reading {
    const account = { receivedBytes: 0, creditMs: limits.graceMs, reckonedMs: 0, reckonedBytes: 0 }
    const reading = { terms, elapsedMs, refuse, ...account }
    readings.add(reading)
    paceTimer ??= setInterval(checkPace, Math.min(PACE_CHECK_MS, limits.graceMs))
    return reading
  }

  /** One timer for all: it runs while there is anything to watch. */
  function checkPace(): void {
    if (readings.size === 0) {
      clearInterval(paceTimer)
      paceTimer = undefined
    }
    for (const reading of readings) {
      if (isLate(reading, limits)) reading.refuse(new CofferError('timeout', 'The request body came too slowly'))
    }
    recheck()
  }

  function recheck(): void {
    for (const { terms, refuse } of readings) {
      try {
        terms.check()
      } catch (error) {
        refuse(error as CofferError)
      }
    }
  }

  return { read, feed, stream, recheck }
}

/** A burst does not pay for more silence than the grace: what counts is the pace of late, not that since the start. */
function isLate(reading: Reading, { graceMs, bytesPerSecondMin }: BodyLimits): boolean {
  const elapsedMs = reading.elapsedMs()
  const earnedMs = ((reading.receivedBytes - reading.reckonedBytes) / bytesPerSecondMin) * 1000
  reading.creditMs = Math.min(graceMs, reading.creditMs - (elapsedMs - reading.reckonedMs) + earnedMs)
  reading.reckonedMs = elapsedMs
  reading.reckonedBytes = reading.receivedBytes
  return reading.creditMs < 0 || elapsedMs > reading.terms.withinMs
}

const endedEarly = () => new CofferError('invalid', 'The request body ended early')

/** What is not written yet takes no memory. */
function grow(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  wipeBody(bytes)
  return larger
}

/** Without effect the second time. */
export function wipeBody(body: Uint8Array<ArrayBuffer>): void {
  if (!body.buffer.detached) wipeAndFree(new Uint8Array(body.buffer)) // which may be longer than what came
}

export const tooLarge = (bytesMax: number) =>
  new CofferError('tooLarge', `The request body is larger than ${bytesMax} bytes`)
