/** What the pipeline answers, before it becomes a Response or bytes on a socket. */

export interface Reply {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | null
}

/** A reply whose body is made while it is sent. */
export interface StreamedReply extends Omit<Reply, 'body'> {
  body: ReadableStream<Uint8Array>
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

/**
 * A body of unknown length; the client is held back while it does not read. `onFailure` is given the reason why it broke off and cuts
 * the connection, which is how HTTP/1.1 tells the client: RFC 9112 section 8.
 */
export function streamReply(
  status: number,
  chunks: AsyncIterable<Uint8Array>,
  type: string,
  headers: Readonly<Record<string, string>>,
  onFailure: (error: unknown) => void,
): StreamedReply {
  const iterator = chunks[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          onFailure(error)
          controller.close()
        }
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return { status, headers: { ...headers, 'content-type': type }, body }
}

export const toResponse = ({ status, headers, body }: Reply | StreamedReply): Response =>
  new Response(body as ConstructorParameters<typeof Response>[0], { status, headers })
