/** Answers as Node's server makes them, with what every answer of ours says: headers, and whether the connection goes on. */

import { ServerResponse } from 'node:http'
import type { WatchUnsent } from './unsent.ts'

interface AnswerOptions {
  commonHeaders: () => Readonly<Record<string, string>>
  keepAliveMs: number
  /** True once no request may follow on any connection. */
  isClosing: () => boolean
  watchUnsent: WatchUnsent
}

// Of the time for which an idle connection is kept: a client counts from when the answer has reached it.
const ANNOUNCED_SHARE = 4 / 5

/** The class that Node's server makes its answers of, those it gives by itself included. */
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
      // A client that still waits for "100 Continue" may or may not send its body now: nobody could tell what follows.
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
