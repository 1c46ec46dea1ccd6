/** Reads request bodies within bounds of size, memory and time. Contract section 1.5. */

import type { Readable } from 'node:stream'
import { CofferError } from '../../base/error.ts'
import { MIB } from '../../base/memory.ts'
import { ownsMemory, wipe, wipeAndFree } from '../../base/secret.ts'
import { ANY_TERMS, type BodyLimits, createRateWatch, type Terms } from './body-rate.ts'
import { endedEarly, streamBody, type Upload } from './body-stream.ts'
import { createReservations, type Held } from './reservations.ts'

export const BODY_BYTES_MAX = MIB

export interface BodyReader {
  /**
   * Throws `tooLarge`, `timeout`, `busy`, an error of `terms`, or `invalid` if the client disconnects. The body counts as long as it
   * arrives, or until the caller releases `held`.
   */
  read(stream: Readable, bytesMax: number, terms?: Terms, held?: Held): Promise<Uint8Array<ArrayBuffer>>
  /** Like `read`, in pieces. Also throws the errors of `take`. */
  feed(stream: Readable, bytesMax: number, take: Take, terms?: Terms): Promise<void>
  /**
   * Holds the client back until the next piece is read, and calls `open` for the first. Throws `timeout`, an error of `terms`, or `invalid`
   * if the client disconnects.
   */
  stream(open: () => Readable, terms?: Terms): Upload
  hold(user: string): Held
  recheck(): void
}

/** The reader wipes pieces that are `taken`; the callee owns those that are `kept`. */
type Take = (piece: Uint8Array) => 'taken' | 'kept'

export function createBodyReader(limits: BodyLimits): BodyReader {
  const rates = createRateWatch(limits)
  const { hold } = createReservations(limits)

  async function read(
    stream: Readable,
    bytesMax: number,
    terms?: Terms,
    held?: Held,
  ): Promise<Uint8Array<ArrayBuffer>> {
    let whole = new Uint8Array()
    let length = 0
    const take: Take = (piece) => {
      const begin = length
      length += piece.length
      if (begin === 0 && ownsMemory(piece)) {
        whole = new Uint8Array(piece.buffer) // most bodies arrive in one piece; not a Buffer, whose slices share memory
        return 'kept'
      }
      if (length > whole.length) whole = grow(whole, Math.max(length, 2 * begin))
      whole.set(piece, begin)
      return 'taken'
    }
    try {
      await feed(stream, bytesMax, take, terms, held)
      return whole.subarray(0, length)
    } catch (error) {
      wipeBody(whole)
      throw error
    }
  }

  async function feed(
    stream: Readable,
    bytesMax: number,
    take: Take,
    terms: Terms = ANY_TERMS,
    held?: Held,
  ): Promise<void> {
    const counted = held ?? hold(terms.user)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const startedMs = performance.now()
    let isRefused = false
    const refuse = (error: unknown) => {
      isRefused = true
      reject(error)
    }
    const reading = rates.watch(terms, () => performance.now() - startedMs, refuse)
    const onData = (chunk: Uint8Array) => {
      reading.receivedBytes += chunk.length
      try {
        if (reading.receivedBytes > bytesMax) throw tooLarge(bytesMax)
        counted.add(chunk.length)
        if (!isRefused && take(chunk) === 'kept') return
      } catch (error) {
        refuse(error)
      }
      wipe(chunk) // the piece may hold a passphrase
    }
    const onClose = () => {
      if (!stream.readableEnded) refuse(endedEarly())
    }
    stream.on('data', onData).on('end', resolve).on('error', onClose).on('close', onClose)
    try {
      await promise
    } finally {
      rates.release(reading)
      if (held === undefined) counted.release()
      stream.off('data', onData).off('end', resolve).off('close', onClose)
      // The error listener stays: without it, a later connection error would end the process.
    }
  }

  const stream = (open: () => Readable, terms = ANY_TERMS) => streamBody(rates, open, terms)
  return { read, feed, stream, hold, recheck: rates.recheck }
}

/** The unwritten rest of the larger buffer takes no memory yet. */
function grow(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  wipeBody(bytes)
  return larger
}

/** May be called twice. */
export function wipeBody(body: Uint8Array<ArrayBuffer>): void {
  if (!body.buffer.detached) wipeAndFree(new Uint8Array(body.buffer)) // the buffer may be longer than the body
}

export const tooLarge = (bytesMax: number) =>
  new CofferError('tooLarge', `The request body is larger than ${bytesMax} bytes`)
