/**
 * How the page reaches its appliance: `fetch` that sends and keeps no credentials of the browser's own, so that a 401 never
 * opens its window and no other page can act in a user's name; and XMLHttpRequest where bytes sent have to be counted.
 */

import type { Request } from '../client/request.ts'

/** What a browser sends, which may be a file that is in no memory. */
export type Body = XMLHttpRequestBodyInit

export interface Call extends Request<Body> {
  /** Bytes of the body so far. */
  progress?: (sent: number) => void
}

export const BASE = '/api/v1'

/** Throws `TypeError` when there is no answer, and the signal's reason. */
export function send({ path, progress, ...request }: Call): Promise<Response> {
  if (progress) return upload({ path, ...request }, progress)
  return fetch(BASE + path, { ...request, credentials: 'omit', redirect: 'error', cache: 'no-store' })
}

/** Requests of this kind go out only after a cheap one with the same credentials: a 401 would open the browser's window. */
function upload({ method, path, headers, body, signal }: Call, progress: (sent: number) => void) {
  return new Promise<Response>((done, fail) => {
    const request = new XMLHttpRequest()
    request.open(method, BASE + path)
    request.withCredentials = false
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.onload = () => {
      const answer = request.status === 204 ? null : request.responseText
      const retry = request.getResponseHeader('retry-after')
      done(new Response(answer, { status: request.status, headers: retry ? { 'retry-after': retry } : {} }))
    }
    request.onerror = () => fail(new TypeError('No answer'))
    request.onabort = () => fail(signal?.reason ?? new DOMException('Aborted', 'AbortError'))
    signal?.addEventListener('abort', () => request.abort())
    request.send(body)
  })
}
