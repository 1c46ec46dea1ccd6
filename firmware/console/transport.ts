/**
 * Sends requests to the appliance. `fetch` sends and stores no credentials of the browser, so a 401 opens no dialog and no other
 * site can act as a user. XMLHttpRequest is used where bytes sent must be counted.
 */

import type { Request } from '../client/request.ts'

/** Body of a request. A file is not read into memory. */
export type Body = XMLHttpRequestBodyInit

export interface Call extends Request<Body> {
  progress?: (sent: number) => void
}

export const BASE = '/api/v1'

/** Throws `TypeError` without an answer, or the signal's reason when aborted. */
export function send({ path, progress, ...request }: Call): Promise<Response> {
  if (progress) return upload({ path, ...request }, progress)
  return fetch(BASE + path, { ...request, credentials: 'omit', redirect: 'error', cache: 'no-store' })
}

/** Sends with XMLHttpRequest. Check the credentials with a small request before: a 401 would open the browser's own dialog. */
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
