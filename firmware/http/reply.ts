/** Answers of the pipeline, before they become a Response or bytes on a socket. */

export interface Reply {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array<ArrayBuffer> | null
}

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

/** Sends `content-length: 0`, except with 304, where the length would describe the representation. */
export const emptyReply = (status: number, headers?: Readonly<Record<string, string>>): Reply => ({
  status,
  headers: status === 304 ? { ...headers } : { ...headers, 'content-length': '0' },
  body: null,
})

/**
 * A body of unknown length; production pauses while the client does not read. `onFailure` gets the reason of a failure and cuts the
 * connection, which tells an HTTP/1.1 client that the body is incomplete: RFC 9112 section 8.
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
