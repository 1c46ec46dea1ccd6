/**
 * Pipelined requests: RFC 9112 section 9.3.2. They run one after another, so that one answer is in memory, and a bounded number waits.
 * Beyond the bound the socket is not read until answers are sent.
 */

import type { Socket } from 'node:net'

export interface PipeliningLimits {
  waitingMax: number
  /** Bound of waiting requests on all connections. From half of it on, one may wait per connection; beyond it the connection is cut. */
  waitingTotalMax: number
}

/** Sees all bytes on their way to the parser. */
interface Passage {
  beforeParsing(socket: Socket, bytes: Buffer): Buffer
  afterParsing(socket: Socket, bytes: Buffer): void
}

/** Bytes given to the parser at a time: about 50 of the shortest requests. */
const PORTION_BYTES = 1024

interface Pipelining {
  /** Calls `begin` once the answers to all earlier requests are sent. */
  wait(socket: Socket, begin: () => void): void
  /** Call when an answer is sent. */
  proceed(socket: Socket): void
  /** Gives these bytes to the parser before those that follow. Call while the parser reports an error, after it was initialized. */
  readAgain(socket: Socket, bytes: Buffer): void
  stop(socket: Socket): void
  /** Discards unparsed data and waiting requests. */
  drop(socket: Socket): void
  /** True if data is unparsed because earlier requests wait for their answers. */
  isHolding(socket: Socket): boolean
}

interface Line {
  waiting: (() => void)[]
  unread: Buffer[]
  parse: (bytes: Buffer) => void
  isParsing: boolean
  isHeld: boolean
  isStopped: boolean
}

export function createPipelining({ waitingMax, waitingTotalMax }: PipeliningLimits, passage: Passage): Pipelining {
  const lines = new Map<Socket, Line>()
  let total = 0

  function open(socket: Socket): Line {
    const line: Line = {
      waiting: [],
      unread: [],
      parse: readAsStream(socket, (bytes) => {
        if (line.isStopped) return
        line.unread.push(bytes)
        parse(socket, line)
      }),
      isParsing: false,
      isHeld: false,
      isStopped: false,
    }
    // Node's server resumes the socket after it has sent data, or to read more of a body.
    const { resume } = socket
    socket.resume = () => {
      if (line.unread.length === 0) return resume.call(socket)
      setImmediate(() => parse(socket, line))
      return socket
    }
    socket.once('close', () => {
      drop(line)
      lines.delete(socket)
    })
    lines.set(socket, line)
    return line
  }

  function parse(socket: Socket, line: Line): void {
    if (line.isParsing) return
    line.isParsing = true
    const waitingNowMax = total < waitingTotalMax / 2 ? waitingMax : 1
    while (line.waiting.length < waitingNowMax && !isPaused(socket) && !socket.destroyed) {
      const bytes = line.unread.shift()
      if (bytes === undefined) break
      if (bytes.length > PORTION_BYTES) line.unread.unshift(bytes.subarray(PORTION_BYTES))
      const portion = passage.beforeParsing(socket, bytes.subarray(0, PORTION_BYTES))
      line.parse(portion)
      passage.afterParsing(socket, portion)
    }
    line.isParsing = false
    if (line.unread.length > 0) {
      line.isHeld = true
      socket.pause()
    } else if (line.isHeld) {
      line.isHeld = false
      if (!isPaused(socket)) socket.resume()
    }
  }

  function stop(line: Line): void {
    line.isStopped = true
    line.unread.length = 0
  }

  function drop(line: Line): void {
    stop(line)
    total -= line.waiting.length
    line.waiting.length = 0
  }

  return {
    wait: (socket, begin) => {
      const line = lines.get(socket) ?? open(socket)
      line.waiting.push(begin)
      if (++total > waitingTotalMax) socket.destroy()
    },
    proceed: (socket) => {
      const line = lines.get(socket)
      if (line === undefined || socket.destroyed) return
      const begin = line.waiting.shift()
      if (begin !== undefined) {
        total--
        begin()
      }
      parse(socket, line)
    },
    readAgain: (socket, bytes) => {
      const line = lines.get(socket) ?? open(socket)
      line.unread.unshift(bytes)
      parse(socket, line) // at once: the end of the connection may have been read, too
    },
    stop: (socket) => {
      const line = lines.get(socket)
      if (line !== undefined) stop(line)
    },
    drop: (socket) => {
      const line = lines.get(socket)
      if (line !== undefined) drop(line)
    },
    isHolding: (socket) => {
      const line = lines.get(socket)
      return line !== undefined && (line.isHeld || line.unread.length > 0)
    },
  }
}

/**
 * Inserts `onData` before Node's HTTP parser and returns the parser's listener. A socket with its own `data` listener is read as a stream.
 * Native reading is faster, but decrypted TLS records reach the parser after it was paused, and the client gets 400 for valid requests.
 */
function readAsStream(socket: Socket, onData: (bytes: Buffer) => void): (bytes: Buffer) => void {
  const parse = socket.listeners('data')[0] as (bytes: Buffer) => void
  socket.on('data', onData)
  socket.off('data', parse)
  socket.on('resume', () => startReading(socket))
  return parse
}

/**
 * Node may have stopped the native handle just before, because the client does not read. The listener that restarts it left with the native
 * reading, and the stream assumes that the handle still runs.
 */
function startReading(socket: Socket): void {
  const { _handle: handle } = socket as Socket & { _handle: NativeHandle | null }
  if (handle === null || handle.reading) return
  handle.reading = true
  handle.readStart()
}

interface NativeHandle {
  reading: boolean
  readStart(): void
}

/** True if Node's server has paused the socket until the client reads its answers. */
const isPaused = (socket: Socket): boolean => (socket as Socket & { _paused?: boolean })._paused === true
