/** Builds the request of a call, with credentials and content, and reads the answer. */

import { multipart } from './multipart.ts'
import { expectSuccess, type Options, type Request, segment, type Transport, type Upload } from './request.ts'
import type * as T from './types.ts'

export type Calls = ReturnType<typeof createCalls>

/** Called for each request that needs an account; null sends the request without credentials. */
export type Authorization = (method: string, path: string) => Promise<string | null>

const PEM = 'application/x-pem-file'
export const BYTES = 'application/octet-stream'
const encode = (text: string) => new TextEncoder().encode(text)

export const argumentsPart = (value: unknown) => ({
  name: 'arguments',
  type: 'application/json',
  body: encode(JSON.stringify(value)),
})

export function createCalls(transport: Transport, authorization: Authorization) {
  async function send(
    method: Request['method'],
    path: string,
    { query = {}, accept, ifMatch, signal }: Options = {},
    content?: { type: string; body: Uint8Array | Upload },
  ): Promise<Response> {
    const credentials = await authorization(method, path)
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    const request: Request = {
      method,
      path: parameters.length === 0 ? path : `${path}?${parameters.join('&')}`,
      headers: {
        ...(credentials !== null && { authorization: credentials }),
        ...(accept !== undefined && { accept }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(content && { 'content-type': content.type }),
      },
      ...(content && { body: content.body }),
      ...(signal && { signal }),
    }
    return expectSuccess(await transport(request))
  }

  const json = (value: unknown) => ({ type: 'application/json', body: encode(JSON.stringify(value)) })
  const get = async <R>(path: string, options?: Options) => (await (await send('GET', path, options)).json()) as R
  const text = async (path: string, options?: Options) => (await send('GET', path, options)).text()
  const ask = async <R>(path: string, body: unknown, options?: Options) =>
    (await (await send('POST', path, options, json(body))).json()) as R
  const post = async (path: string, body?: unknown, options?: Options) =>
    void (await send('POST', path, options, body === undefined ? undefined : json(body)))
  const put = async (path: string, body?: unknown, options?: Options) =>
    void (await send('PUT', path, options, body === undefined ? undefined : json(body)))
  const remove = async (path: string, options?: Options, body?: unknown) =>
    void (await send('DELETE', path, options, body === undefined ? undefined : json(body)))
  const putPem = async (path: string, pem: string, options?: Options) =>
    void (await send('PUT', path, options, { type: PEM, body: encode(pem) }))
  const requestPem = async (path: string, subject: T.Subject, options?: Options) =>
    (await send('POST', path, options, json(subject))).text()
  const pemImport = (key: T.KeyAttributes, pem: string) =>
    multipart([argumentsPart(key), { name: 'key_file', type: 'text/plain', file: 'key.pem', body: encode(pem) }])
  /** Body of an import: the key as JSON, or its attributes and a private key in PEM. */
  const imported = (key: T.KeyImport | T.KeyAttributes, pem?: string) =>
    pem === undefined ? json(key) : pemImport(key, pem)

  return { send, get, text, ask, post, put, remove, putPem, requestPem, imported }
}

export const ofKey = (id: string): string => `/keys/${segment(id)}`
export const ofUser = (id: string): string => `/users/${segment(id)}`
