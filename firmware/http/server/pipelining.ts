/**
 * Requests that a client sends before it has its answers: RFC 9112 section 9.3.2. They begin one after another, so that
 * one answer is in memory, and some of them wait. Beyond that the client is not read until answers are sent.
 */

import type { Socket } from 'node:net'

export interface PipeliningLimits {
  /** Requests of one connection that wait. */
  waitingMax: number
  /** Those of all connections: from half of it on one may wait on each, and who goes beyond it is cut off. */
  waitingTotalMax: number
}

/** What the parser is given at once: some 50 of the shortest requests. */
const PORTION_BYTES = 1024

interface Pipelining {
  /** `begin` is called when the answers to all earlier requests have been sent. */
  wait(socket: Socket, begin: () => void): void
  /** An answer has been sent. */
  proceed(socket: Socket): void
  /** Nothing more of it is to be parsed. */
  stop(socket: Socket): void
  /** The same, and what waits is not begun. */
  drop(socket: Socket): void
  /** Whether something of it is not parsed yet, since others wait for their answers. */
  isHolding(socket: Socket): boolean
}

interface Line {
  waiting: (() => void)[]
  /** Received and not given to the parser. */
  unread: Buffer[]
  parse: (bytes: Buffer) => void
  isParsing: boolean
  isHeld: boolean
  isStopped: boolean
}

export function createPipelining({ waitingMax, waitingTotalMax }: PipeliningLimits): Pipelining {
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
    // Node's server resumes the socket when it has sent something, or wants more of a body.
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
    while (line.unread.length > 0 && line.waiting.length < waitingNowMax && !isPaused(socket) && !socket.destroyed) {
      const bytes = line.unread.shift()!
      if (bytes.length > PORTION_BYTES) line.unread.unshift(bytes.subarray(PORTION_BYTES))
      line.parse(bytes.subarray(0, PORTION_BYTES))
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
 * Puts `onData` between the socket and the parser of Node's server, and returns the way on. A socket with a listener of
 * its own is read as a stream. Read natively, which is faster, TLS records already decrypted reach the parser after it was
 * paused, and the client gets 400 for good requests.
 */
function readAsStream(socket: Socket, onData: (bytes: Buffer) => void): (bytes: Buffer) => void {
  const parse = socket.listeners('data')[0] as (bytes: Buffer) => void
  socket.on('data', onData)
  socket.off('data', parse)
  socket.on('resume', () => startReading(socket))
  return parse
}

/**
 * Node's server may have stopped the native handle just before, since the client has not read an answer. The listener that starts it
 * again has gone with the native reading, and the stream, which did not stop it, takes it to be running.
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

/** Node's server has paused the socket, and the parser takes nothing until the client has read its answers. */
const isPaused = (socket: Socket): boolean => (socket as Socket & { _paused?: boolean })._paused === true
