/** Sends messages to a log server over TLS: RFC 5425. One connection takes one batch and confirms it by its end. */

import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { withoutEnd } from './close-notify.ts'
import type { Connector } from './connect.ts'
import { OutgoingError } from './error.ts'
import { readable } from './http.ts'
import type { SyslogAnswer, SyslogJob } from './link.ts'

/**
 * Between the last byte and our end, and as long as sending took if that is longer: a server that dies over what it has read, but not
 * stored, then ends first. Without it, its operating system would end the connection just as an orderly end does, since rsyslog's
 * GnuTLS sends no close_notify.
 */
const END_DELAY_MS = 1000
const END_DELAY_MS_MAX = 10_000 // a slow line needs the rest of the job's time for what its buffers hold

/** Throws `OutgoingError`. */
export function deliver(connector: Connector, job: SyslogJob, signal: AbortSignal): Promise<SyslogAnswer> {
  return readable('it did not take the lines', job.timeoutMs, signal, async (limit) => {
    const tcpEnd = Promise.withResolvers<void>()
    const stream = withoutEnd(await connector.connectToChosen(job, limit), tcpEnd.resolve)
    const socket = await connector.secure(stream, job.host, limit, job)
    socket.setTimeout(0) // a slow line is silent while its buffers empty; the job's time is the bound
    const close = () => {
      socket.destroy()
      stream.destroy()
    }
    limit.addEventListener('abort', close, { once: true })
    try {
      limit.throwIfAborted()
      return { isAuthenticated: await sendAndEnd(socket, job.frames, tcpEnd.promise, limit) }
    } finally {
      limit.removeEventListener('abort', close)
      close()
    }
  })
}

/** Returns true if the server has ended TLS, false if only TCP has ended. */
async function sendAndEnd(
  socket: TLSSocket,
  frames: Uint8Array,
  tcpEnd: Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  const ended = Promise.withResolvers<boolean>()
  ended.promise.catch(() => {}) // awaited below, but for other failures before
  socket.once('end', () => ended.resolve(true)).once('error', ended.reject)
  socket.once('close', () => ended.reject(new OutgoingError('it broke the connection', false)))
  void tcpEnd.then(() => ended.resolve(false))
  socket.resume() // servers send nothing
  const early = ended.promise.then(() => {
    throw new OutgoingError('it ended the connection before all lines were sent', false)
  })
  early.catch(() => {})
  const startedMs = performance.now()
  await Promise.race([write(socket, frames), early])
  const delayMs = Math.min(END_DELAY_MS_MAX, Math.max(END_DELAY_MS, performance.now() - startedMs))
  await Promise.race([pause(delayMs, undefined, { signal }), early])
  socket.end()
  return ended.promise
}

const write = (socket: TLSSocket, frames: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => socket.write(frames, (error) => (error ? reject(error) : resolve())))
