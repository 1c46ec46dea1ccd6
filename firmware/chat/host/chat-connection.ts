/** The appliance's end of one life of the chat's process: asks it, and hears what it says. */

import type { Duplex } from 'node:stream'
import type * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { openChannel } from '../../channel/channel.ts'
import { type Ask, errorOf, type FromChat, readFromChat, type ToChat } from '../link/link.ts'

const ASKS_MAX = 64 // waiting for one another: administrators' calls, and one backup

export interface ChatConnection {
  send(message: Exclude<ToChat, { type: 'ask' }>): void
  /** What it answers. Throws the error it gives, `busy`, and `unavailable` when it ends before. */
  ask(ask: Ask): Promise<unknown>
}

interface ChatConnectionListeners {
  onMessage(message: Exclude<FromChat, { type: 'answer' }>): void
  /** It broke the rules and is not listened to any more. */
  onRefused(why: string): void
  onEnd(): void
}

export function openChatConnection(
  stream: Duplex,
  { onMessage, onRefused, onEnd }: ChatConnectionListeners,
): ChatConnection {
  const channel = openChannel<FromChat, ToChat>(stream, readFromChat)
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
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

/** The chat's process meets the network: what it answers is looked at. */
export function expectShape<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data, success } = schema.safeParse(value)
  if (success) return data
  throw new CofferError('internal', 'The chat gave a malformed answer')
}
