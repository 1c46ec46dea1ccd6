/** The chat's side of outgoing requests: the appliance decides whether the host may be reached, and has the request sent. */

import { OutgoingError } from '../../outgoing/error.ts'
import { type FromChat, OUTGOING_BYTES_MAX, type OutgoingResponse, type ToChat } from '../link/link.ts'
import type { Post } from '../outgoing/bot-calls.ts'

interface OutgoingRequests {
  post: Post
  hear(message: Extract<ToChat, { type: 'response' }>): void
}

export function createOutgoingRequests(
  send: (message: Extract<FromChat, { type: 'request' | 'cancelRequest' }>) => void,
): OutgoingRequests {
  const waiting = new Map<number, (response: OutgoingResponse) => void>()
  let next = 1

  return {
    async post({ body: text, signal, ...request }) {
      const body = new TextEncoder().encode(text)
      if (body.length > OUTGOING_BYTES_MAX) throw new OutgoingError('the request is too long', true)
      const id = next++
      const { promise, resolve } = Promise.withResolvers<OutgoingResponse>()
      waiting.set(id, resolve)
      send({ type: 'request', id, request: { ...request, body } })
      const cancel = () => {
        if (waiting.delete(id)) send({ type: 'cancelRequest', id })
        resolve({ problem: 'it was canceled', isFinal: true })
      }
      signal.addEventListener('abort', cancel)
      const response = await promise
      signal.removeEventListener('abort', cancel)
      if ('problem' in response) throw new OutgoingError(response.problem, response.isFinal)
      return { status: response.status, text: new TextDecoder().decode(response.body) }
    },
    hear({ id, response }) {
      waiting.get(id)?.(response)
      waiting.delete(id)
    },
  }
}
