/** Node's answers with the common headers; decides whether the connection stays open. */

import { ServerResponse } from 'node:http'
import type { WatchUnsent } from './unsent.ts'

interface AnswerOptions {
  commonHeaders: () => Readonly<Record<string, string>>
  keepAliveMs: number
  /** True once the listener is closing: each answer is then the last of its connection. */
  isClosing: () => boolean
  watchUnsent: WatchUnsent
}

// Share of the keep-alive time that clients are told. They count from the arrival of the answer, the server from its sending.
const ANNOUNCED_SHARE = 4 / 5

/** Class for all answers of Node's server, including those that Node sends itself. */
export function createAnswerClass({
  commonHeaders,
  keepAliveMs,
  isClosing,
  watchUnsent,
}: AnswerOptions): typeof ServerResponse {
  const keepAlive = `timeout=${Math.floor((keepAliveMs * ANNOUNCED_SHARE) / 1000)}`
  return class Answer extends ServerResponse {
    #continued = false

    constructor(...parameters: ConstructorParameters<typeof ServerResponse>) {
      super(...parameters)
      this.sendDate = false
    }

    override writeContinue(callback?: () => void): void {
      this.#continued = true
      super.writeContinue(callback)
    }

    override writeHead(status: number, ...rest: unknown[]): this {
      const own = rest.at(-1)
      const headers = typeof own === 'object' && own !== null && !Array.isArray(own) ? own : {}
      // A client waiting for "100 Continue" may or may not send its body now, so the next bytes are ambiguous.
      const undecided = this.req.headers.expect !== undefined && !this.#continued && !this.req.complete
      if (undecided || isClosing() || (headers as { connection?: string }).connection === 'close')
        this.shouldKeepAlive = false
      const kept = this.shouldKeepAlive && { 'keep-alive': keepAlive }
      return super.writeHead(status, { ...commonHeaders(), ...kept, ...headers })
    }

    override end(...parameters: unknown[]): this {
      const [body] = parameters
      if (typeof body === 'string' || body instanceof Uint8Array) watchUnsent(this, body.length)
      return super.end(...(parameters as Parameters<ServerResponse['end']>))
    }
  } as typeof ServerResponse
}
