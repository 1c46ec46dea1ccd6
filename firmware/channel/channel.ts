/**
 * The channel between boot manager and firmware: a socket pair with frames on it, and no channel of Node's own, whose
 * messages about handles and whose serialization trust the other side.
 */

import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { wipe } from '../base/secret.ts'
import { createFrameReader, encodeFrame, FrameError } from './frames.ts'

export const CHANNEL_DESCRIPTOR = 3

/** Another process's descriptor of the pipe to the firmware. */
export const LINK_DESCRIPTOR = 5

/** The firmware's descriptors of the pipes to the chat and to the process for outgoing connections. */
export const CHAT_DESCRIPTOR = 5
export const OUTGOING_DESCRIPTOR = 6

/** Messages that the other side does not read: answers and pings are small, so it does not listen any more. */
const UNREAD_BYTES_MAX = 4 * 1024 * 1024

interface Events<In> {
  message: [message: In]
  /** The other side broke the rules, and nothing more is read or written. */
  refused: [why: string]
  end: []
}

export interface FramedChannel<In, Out extends object> extends EventEmitter<Events<In>> {
  /** Without effect when the other side is gone. `sent` is called when the message is on its way, or never will be. */
  send(message: Out, sent?: () => void): void
}

/**
 * Returns a function that sends one message after another, each when the one before is on its way, so that large messages do not
 * exceed the bound on unread ones. It resolves when the message is on its way, or never will be: the caller must bound those that are
 * not, since another process may stop reading. It rejects with a `FrameError` for a message that is too long for a frame, which is not
 * sent.
 */
export function sendInTurn<Out extends object>(channel: {
  send(message: Out, sent: () => void): void
}): (message: Out) => Promise<void> {
  let turn = Promise.resolve()
  return (message) => {
    const sending = turn.then(() => new Promise<void>((sent) => channel.send(message, sent)))
    turn = sending.catch(() => {}) // the caller's matter, and the next message is sent
    return sending
  }
}

/** `read` gives the message that a value is, or null: it is then passed over, since a newer version may have more. */
export function openChannel<In, Out extends object>(
  stream: Duplex,
  read: (value: unknown) => In | null,
): FramedChannel<In, Out> {
  const events = new EventEmitter<Events<In>>()
  const reader = createFrameReader()
  let open = true

  const refuse = (why: string): void => {
    if (!open) return
    open = false
    events.emit('refused', why) // first: who learns that the channel is gone may end in good order
    stream.destroy()
  }

  stream.on('data', (chunk: Uint8Array) => {
    if (!open) return
    let values: unknown[]
    try {
      values = reader.push(chunk)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      return refuse(`sent something that is not a message: ${error.message}`)
    }
    for (const value of values) {
      const message = read(value)
      if (message !== null && open) events.emit('message', message)
    }
  })
  stream.on('error', () => {}) // 'close' follows
  stream.on('close', () => {
    if (open) events.emit('end')
    open = false
  })
  stream.on('end', () => stream.destroy())

  return Object.assign(events, {
    send(message: Out, sent: () => void = () => {}): void {
      if (!open || !stream.writable) {
        sent()
        return
      }
      const frame = encodeFrame(message)
      stream.write(frame, () => {
        wipe(frame)
        sent()
      })
      if (stream.writableLength > UNREAD_BYTES_MAX) refuse('does not read its messages')
    },
  })
}
