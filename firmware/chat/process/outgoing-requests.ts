/** The chat's side of outgoing requests: the appliance decides whether the host may be reached, and has the request sent. */

import { OutgoingError } from '../../outgoing/error.ts'
import {
  type FromChat,
  OUTGOING_BYTES_MAX,
  type OutgoingRequest,
  type OutgoingResponse,
  type ToChat,
} from '../link/link.ts'
import type { Post } from '../outgoing/bot-calls.ts'
import type { SendPush } from '../outgoing/web-push.ts'

interface OutgoingRequests {
  post: Post
  push: SendPush
  hear(message: Extract<ToChat, { type: 'response' }>): void
}

/** The appliance gives a host 10 s, and passes over requests beyond its bound: those must not wait for ever. */
const ANSWER_MS_MAX = 90_000

type Answered = Extract<OutgoingResponse, { status: number }>

export function createOutgoingRequests(
  send: (message: Extract<FromChat, { type: 'request' | 'cancelRequest' }>) => void,
  answerMsMax = ANSWER_MS_MAX,
): OutgoingRequests {
  const waiting = new Map<number, (response: OutgoingResponse) => void>()
  let next = 1

  async function perform(request: OutgoingRequest, signal: AbortSignal): Promise<Answered> {
    if (request.body.length > OUTGOING_BYTES_MAX) throw new OutgoingError('the request is too long', true)
    const id = next++
    const { promise, resolve } = Promise.withResolvers<OutgoingResponse>()
    waiting.set(id, resolve)
    send({ type: 'request', id, request })
    const give = (response: OutgoingResponse) => {
      if (waiting.delete(id)) send({ type: 'cancelRequest', id })
      resolve(response)
    }
    const cancel = () => give({ problem: 'it was canceled', isFinal: true })
    const late = setTimeout(give, answerMsMax, { problem: 'there was no answer in time', isFinal: false }).unref()
    signal.addEventListener('abort', cancel)
    const response = await promise
    clearTimeout(late)
    signal.removeEventListener('abort', cancel)
    if ('problem' in response) throw new OutgoingError(response.problem, response.isFinal)
    return response
  }

  return {
    async post({ body, signal, ...request }) {
      const answer = await perform({ ...request, body: new TextEncoder().encode(body) }, signal)
      return { status: answer.status, text: new TextDecoder().decode(answer.body) }
    },
    async push({ url, body, authorization, topic, signal }) {
      const request = { url, contentType: 'application/octet-stream', body, push: { authorization, topic } }
      const { status, retryAfterS } = await perform(request, signal)
      return { status, retryAfterS }
    },
    hear({ id, response }) {
      waiting.get(id)?.(response)
      waiting.delete(id)
    },
  }
}
