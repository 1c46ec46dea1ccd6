/** The appliance's side of a chat connection: sends requests and receives messages. */

import type { Duplex } from 'node:stream'
import type * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { openChannel, sendInTurn } from '../../channel/channel.ts'
import { type Ask, errorOf, type FromChat, type OutgoingResponse, readFromChat, type ToChat } from '../link/link.ts'

const ASKS_MAX = 64 // outstanding requests: calls of administrators, and one backup

export interface ChatConnection {
  send(message: Exclude<ToChat, { type: 'ask' | 'response' }>): void
  /** Resolves when the response is on its way, or never will be. */
  respond(id: number, response: OutgoingResponse): Promise<void>
  /** Resolves to the answer. Rejects with the error of the chat, `busy`, or `unavailable` if the connection ends first. */
  ask(ask: Ask): Promise<unknown>
}

interface ChatConnectionListeners {
  onMessage(message: Exclude<FromChat, { type: 'answer' }>): void
  /** The process violated the protocol; its messages are ignored from now on. */
  onRefused(why: string): void
  onEnd(): void
}

export function openChatConnection(
  stream: Duplex,
  { onMessage, onRefused, onEnd }: ChatConnectionListeners,
): ChatConnection {
  const channel = openChannel<FromChat, ToChat>(stream, readFromChat)
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const sendLarge = sendInTurn(channel)
  let next = 1
  let isOver = false

  const end = () => {
    isOver = true
    for (const { reject } of waiting.values()) reject(gone())
    waiting.clear()
  }
  channel.on('message', (message) => {
    if (message.type !== 'answer') return onMessage(message)
    const asked = waiting.get(message.id)
    waiting.delete(message.id)
    if (message.problem === null) asked?.resolve(message.value)
    else asked?.reject(errorOf(message.problem))
  })
  channel.on('refused', (why) => {
    end()
    onRefused(why)
  })
  channel.on('end', () => {
    end()
    onEnd()
  })
  return {
    send: (message) => channel.send(message),
    respond: (id, response) => sendLarge({ type: 'response', id, response }),
    ask: (ask) => {
      if (isOver) return Promise.reject(gone())
      if (waiting.size >= ASKS_MAX) return Promise.reject(new CofferError('busy', 'The chat is busy, try again'))
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const id = next++
      waiting.set(id, { resolve, reject })
      channel.send({ type: 'ask', id, ask })
      return promise
    },
  }
}

const gone = () => new CofferError('unavailable', 'The chat ended meanwhile, try again')

/** Validates an answer: the chat process is exposed to the network. */
export function expectShape<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, success } = schema.safeParse(value)
  if (success) return data
  throw new CofferError('internal', 'The chat gave a malformed answer')
}
