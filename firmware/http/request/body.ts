/** Request bodies: read within bounds of size, memory and time. Contract section 1.5. */

import type { Readable } from 'node:stream'
import { CofferError } from '../../base/error.ts'
import { MIB } from '../../base/memory.ts'
import { ownsMemory, wipe, wipeAndFree } from '../../base/secret.ts'
import { ANY_TERMS, type BodyLimits, createRateWatch, type Terms } from './body-rate.ts'
import { endedEarly, streamBody, type Upload } from './body-stream.ts'

export const BODY_BYTES_MAX = MIB

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
  /** For what is kept of a body that is streamed. */
  hold(): Held
  /** Asks now whether the requests of all bodies on their way are still admitted. */
  recheck(): void
}

/** Memory that counts with that of all bodies. */
export interface Held {
  /** Throws `busy`. */
  add(bytes: number): void
  release(): void
}

/** What it does not keep is wiped. */
type Take = (piece: Uint8Array) => 'taken' | 'kept'

export function createBodyReader(limits: BodyLimits): BodyReader {
  const rates = createRateWatch(limits)
  let totalBytes = 0

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
    const reading = rates.watch(terms, () => performance.now() - startedMs, refuse)
    const held = hold()
    const onData = (chunk: Uint8Array) => {
      reading.receivedBytes += chunk.length
      try {
        if (reading.receivedBytes > bytesMax) throw tooLarge(bytesMax)
        held.add(chunk.length)
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
      rates.release(reading)
      held.release()
      stream.off('data', onData).off('end', resolve).off('close', onClose)
      // The error listener stays: a connection that breaks later must not end the process.
    }
  }

  function hold(): Held {
    let heldBytes = 0
    const large = () => Math.max(0, heldBytes - limits.smallBytes)
    return {
      add(bytes) {
        const before = large()
        heldBytes += bytes
        const more = large() - before
        totalBytes += more
        if (more > 0 && totalBytes > limits.totalBytesMax)
          throw new CofferError('busy', 'Too many large requests at once')
      },
      release() {
        totalBytes -= large()
        heldBytes = 0
      },
    }
  }

  const stream = (open: () => Readable, terms = ANY_TERMS) => streamBody(rates, open, terms)
  return { read, feed, stream, hold, recheck: rates.recheck }
}

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
