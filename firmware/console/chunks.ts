/** Chunks of the body of a request or an answer as they come. */

export async function* chunksOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null) {
  if (body === null) return
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
