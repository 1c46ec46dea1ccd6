/** Reads a request body piece by piece. The client is held back until the reader asks for the next piece. */

import type { Readable } from 'node:stream'
import { CofferError } from '../../base/error.ts'
import type { RateWatch, Terms } from './body-rate.ts'

export interface Upload extends AsyncGenerator<Uint8Array, void> {
  /** Fails the pending or next read with this error. */
  refuse(error: CofferError): void
}

/** `open` is called for the first piece. Throws `timeout`, an error of `terms`, or `invalid` if the client disconnects. */
export function streamBody(rates: RateWatch, open: () => Readable, terms: Terms): Upload {
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
    // The handler's processing time does not count against the client.
    const elapsedMs = () => waitedMs + (waitingSinceMs === null ? 0 : performance.now() - waitingSinceMs)
    const reading = rates.watch(terms, elapsedMs, refuse)
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
      rates.release(reading)
      source.off('data', onData).off('end', onEnd).off('close', onClose)
      source.resume() // discards the rest of the body
    }
  }

  return Object.assign(pieces(), { refuse })
}

export const endedEarly = () => new CofferError('invalid', 'The request body ended early')
