/**
 * Accepts the method LIST of Vault's clients, which Node's parser rejects at its third letter. The parser begins anew with LINK in place of
 * LIST, which has as many letters, and the request gets its true name when its head is complete. A real LINK keeps its name.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { defined } from '../../base/defined.ts'
import { type ParserError, viewOf } from './raw.ts'

export interface ListMethod {
  /** Call for each new connection. */
  watch(socket: Socket): void
  /** Returns the bytes that the parser must be given next if it has rejected LIST, else null. Call while the parser reports its error. */
  restart(error: ParserError, socket: Duplex): Buffer | null
  /** Call with bytes that are read as a stream, before the parser gets them. Returns the bytes for the parser. */
  beforeParsing(socket: Duplex, bytes: Buffer): Buffer
  afterParsing(socket: Duplex, bytes: Buffer): void
  /** Call for each request in the order of the parser. */
  rename(incoming: IncomingMessage): void
}

/** State of one connection. */
interface Reading {
  /** True from the first byte of a message to the end of its head. */
  isInHead: boolean
  /** Last bytes of a head that is not complete. */
  tail: string
  /** Bytes to the letter T of a LIST whose first letters were replaced. */
  untilT: number | null
  isList: boolean
}

/** Node's HTTP parser, of which `http` has no type. Its callbacks are at the indexes that its class names. */
interface Parser {
  constructor: { REQUEST: number; kOnMessageBegin: number; kOnExecute: number; kLenientNone: number }
  [callback: number]: ((...values: unknown[]) => unknown) | null
  remove(): void
  initialize(type: number, resource: object, headerBytesMax: number, leniency: number, connections: object): void
  getCurrentBuffer(): Buffer
}

const REJECTED = 'LIS'
const REPLACED = 'LIN'
const [T, K, S] = Buffer.from('TKS')
/** The parser knows UNLINK as well. LIST behind a body that ends with these letters is refused as an unknown method. */
const OTHER = 'UN'
const TAIL_BYTES = OTHER.length + REJECTED.length

const parserOf = (socket: Duplex): Parser => (socket as Duplex & { parser: Parser }).parser

export function createListMethod(server: Server, headerBytesMax: number): ListMethod {
  const readings = new WeakMap<Duplex, Reading>()
  /** Requests begin in the context in which their parser was initialized, which must be that of no earlier request. */
  const inOwnContext = AsyncLocalStorage.snapshot()

  return {
    watch(socket) {
      const reading: Reading = { isInHead: false, tail: '', untilT: null, isList: false }
      readings.set(socket, reading)
      const parser = parserOf(socket)
      const { kOnMessageBegin, kOnExecute } = parser.constructor
      const executed = defined(parser[kOnExecute] ?? undefined)
      parser[kOnMessageBegin] = () => {
        reading.isInHead = true
      }
      parser[kOnExecute] = (result) => {
        // An error's buffer was not parsed to its end.
        if (reading.isInHead && typeof result === 'number') keepTail(reading, parser.getCurrentBuffer())
        return executed(result)
      }
    },
    restart({ code, bytesParsed = 0, rawPacket }, socket) {
      const reading = readings.get(socket)
      if (code !== 'HPE_INVALID_METHOD' || rawPacket === undefined || reading === undefined) return null
      const before = reading.tail + viewOf(rawPacket.subarray(0, bytesParsed + 1)).toString('latin1')
      if (!before.endsWith(REJECTED) || before.endsWith(OTHER + REJECTED)) return null
      const parser = parserOf(socket)
      const { REQUEST, kLenientNone } = parser.constructor
      parser.remove()
      inOwnContext(() => parser.initialize(REQUEST, {}, headerBytesMax, kLenientNone, connectionsOf(server)))
      Object.assign(reading, { isInHead: false, tail: '', untilT: REPLACED.length })
      return ownCopy(Buffer.from(REPLACED), rawPacket.subarray(bytesParsed + 1))
    },
    beforeParsing(socket, bytes) {
      const reading = readings.get(socket)
      if (reading === undefined || reading.untilT === null) return bytes
      const at = reading.untilT
      if (at >= bytes.length) {
        reading.untilT -= bytes.length
        return bytes
      }
      reading.untilT = null
      reading.isList = bytes[at] === T
      const replaced = ownCopy(bytes)
      replaced[at] = defined(reading.isList ? K : S) // LINS is no method, as whatever stands here behind LIS
      return replaced
    },
    afterParsing(socket, bytes) {
      const reading = readings.get(socket)
      if (reading?.isInHead) keepTail(reading, bytes)
    },
    rename(incoming) {
      const reading = readings.get(incoming.socket)
      if (reading === undefined) return
      reading.isInHead = false
      reading.tail = ''
      if (reading.isList) incoming.method = 'LIST'
      reading.isList = false
    },
  }
}

/** In memory of its own, for the same reason as `viewOf`. */
function ownCopy(...parts: readonly Uint8Array[]): Buffer {
  const copy = Buffer.alloc(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    copy.set(part, at)
    at += part.length
  }
  return copy
}

function keepTail(reading: Reading, bytes: Uint8Array): void {
  const last = viewOf(bytes.subarray(-TAIL_BYTES)).toString('latin1')
  reading.tail = (reading.tail + last).slice(-TAIL_BYTES)
}

/** Node's list of the connections of a server, in which it looks for slow heads. */
function connectionsOf(server: Server): object {
  const symbol = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connections',
  )
  return defined((server as unknown as Record<symbol, object | undefined>)[defined(symbol)])
}
