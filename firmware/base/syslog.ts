/** Forwards the log to a syslog server: RFC 3164 over UDP. Contract section 7.6. */

import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { type LogEntry, SEVERITY } from './log.ts'

interface SyslogTarget {
  /** IPv4 or IPv6. */
  address: string
  port: number
}

export interface Syslog {
  send(entry: LogEntry): void
  /** Null: nothing is sent. Until the first call entries are held back, as far as there is room. */
  setTarget(target: SyslogTarget | null): void
  /** Resolves when what was sent has left, or could not. */
  close(): Promise<void>
}

const FACILITY = 3 // daemon
const HOSTNAME = 'coffer' // fixed: nothing here knows a name of its own
const PACKET_BYTES_MAX = 1024 // RFC 3164 section 4.1
const MESSAGE_BYTES_MAX = PACKET_BYTES_MAX - 128 // the rest is more than priority, time, hostname and tag ever take
const CUT = '...'
const HELD_MAX = 256 // a start logs a few lines, one more for each damaged record
const WAITING_BYTES_MAX = 1024 * 1024 // of packets the network does not take; the later ones are lost
const CLOSE_MS_MAX = 1000
const CLOSE_CHECK_MS = 5

/** No failure of the network is reported anywhere: it would be one more thing to send. */
export function createSyslog(now: () => number): Syslog {
  let held: LogEntry[] | null = []
  let target: SyslogTarget | null = null
  let socket: Socket | null = null

  const transmit = (entry: LogEntry) => {
    if (socket === null || target === null || socket.getSendQueueSize() > WAITING_BYTES_MAX) return
    socket.send(formatPacket(entry, now()), target.port, target.address, () => {})
  }

  return {
    send: (entry) => {
      if (held === null) transmit(entry)
      else if (held.length < HELD_MAX) held.push(entry)
    },
    setTarget: (next) => {
      const former = socket
      if (former !== null) void finish(former)
      target = next
      socket = next === null ? null : open(next)
      const entries = held ?? []
      held = null
      for (const entry of entries) transmit(entry)
    },
    close: async () => {
      const last = socket
      socket = null
      if (last !== null) await finish(last)
    },
  }
}

/** Bytes 0x20 to 0x7e and UTF-8 beyond; unprintable characters were escaped when the entry was made. */
export function formatPacket({ level, source, message }: LogEntry, timeMs: number): Buffer {
  const priority = FACILITY * 8 + SEVERITY[level]
  return Buffer.from(`<${priority}>${formatTimestamp(timeMs)} ${HOSTNAME} ${source}: ${shorten(message)}`)
}

/** `Mmm dd hh:mm:ss` in UTC, the day padded with a space. */
function formatTimestamp(timeMs: number): string {
  const [, day = '', month, , time] = new Date(timeMs).toUTCString().split(' ')
  return `${month} ${day.replace(/^0/, ' ')} ${time}`
}

function shorten(message: string): string {
  const bytes = Buffer.from(message)
  if (bytes.length <= MESSAGE_BYTES_MAX) return message
  let end = MESSAGE_BYTES_MAX - CUT.length
  while ((bytes.readUInt8(end) & 0xc0) === 0x80) end-- // not inside a character
  return bytes.toString('utf8', 0, end) + CUT
}

function open({ address }: SyslogTarget): Socket {
  const type = isIPv6(address) ? 'udp6' : 'udp4'
  // Addresses are never names: asking the resolver could only cost time.
  const lookup: NonNullable<SocketOptions['lookup']> = (host, _options, done) =>
    done(null, host, type === 'udp6' ? 6 : 4)
  const socket = createSocket({ type, lookup })
  socket.on('error', () => {})
  socket.unref()
  return socket
}

async function finish(socket: Socket): Promise<void> {
  const deadline = performance.now() + CLOSE_MS_MAX
  while (socket.getSendQueueCount() > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, CLOSE_CHECK_MS))
  }
  socket.close()
}
