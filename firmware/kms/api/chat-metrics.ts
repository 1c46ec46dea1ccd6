/** Metrics of the chat for Prometheus: its state and sizes. Contract section 4.8. */

import type { ChatService } from '../../chat/link/chat-service.ts'
import type { Family, Metric } from './prometheus.ts'

const STATES = ['none', 'starting', 'running', 'failed'] as const satisfies readonly ChatService['state'][]

/** The appliance's metrics must not wait longer for a busy chat. */
const WAIT_MS_MAX = 1000

const family = (name: string, help: string): Family => ({ name: `coffer_chat_${name}`, type: 'gauge', help })

const STATE = family('state', 'Whether the chat is in this state.')
const SIZES = {
  users: family('users', 'Accounts of the chat.'),
  messages: family('messages', 'Messages of the chat.'),
  bytes: family('bytes', 'Bytes of the databases of the chat.'),
  queues: family('queues', 'Event queues of clients of the chat.'),
}

/** Includes sizes only if the chat is running and answers in time. */
export async function chatMetrics(chat: ChatService): Promise<Metric[]> {
  const figures = chat.state === 'running' ? await inTime(chat.figures()) : null
  const now = chat.state
  const states = STATES.map(
    (state): Metric => ({ value: Number(state === now), family: STATE, label: ['state', state] }),
  )
  if (figures === null || now !== 'running') return states
  const { users, messages, bytes, queues } = figures
  const sizes = Object.entries({ users, messages, bytes, queues }) as [keyof typeof SIZES, number][]
  return [...states, ...sizes.map(([name, value]) => ({ value, family: SIZES[name] }))]
}

/** Resolves to null on a timeout, or if the chat ends meanwhile. */
async function inTime<T>(answer: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(() => resolve(null), WAIT_MS_MAX)
  try {
    return await Promise.race([answer.catch(() => null), late])
  } finally {
    clearTimeout(timer)
  }
}
