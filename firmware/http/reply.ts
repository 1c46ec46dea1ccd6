/** What the pipeline answers, before it becomes a Response or bytes on a socket. */

export interface Reply {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | null
}

export const JSON_TYPE = 'application/json'

export const jsonReply = (status: number, value: unknown, headers?: Readonly<Record<string, string>>): Reply =>
  bodyReply(status, JSON.stringify(value), JSON_TYPE, headers)

export const bodyReply = (
  status: number,
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
  headers?: Readonly<Record<string, string>>,
): Reply => ({
  status,
  headers: { ...headers, 'content-type': type, 'content-length': String(Buffer.byteLength(body)) },
  body,
})

/** Without a body; says so by `content-length: 0`, but for 304, whose length would be that of the representation. */
export const emptyReply = (status: number, headers?: Readonly<Record<string, string>>): Reply => ({
  status,
  headers: status === 304 ? { ...headers } : { ...headers, 'content-length': '0' },
  body: null,
})

export const toResponse = ({ status, headers, body }: Reply): Response => new Response(body, { status, headers })
