/** Builds forms with files (multipart/form-data, RFC 7578). A form with a streamed part is streamed. */

import { toHex } from './bytes.ts'
import type { Upload } from './request.ts'

export interface Part {
  name: string
  type: string
  file?: string
  body: Uint8Array | Upload
}

/** The boundary has 128 random bits, so no part contains it. */
export function multipart(parts: readonly Part[]): { type: string; body: Upload } {
  const boundary = `coffer-${toHex(globalThis.crypto.getRandomValues(new Uint8Array(16)))}`
  const utf8 = (text: string) => new TextEncoder().encode(text)
  const headed = parts.map(({ name, type, file, body }) => ({
    body,
    head: utf8(
      `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file ? `; filename="${file}"` : ''}\r\n` +
        `content-type: ${type}\r\n\r\n`,
    ),
  }))
  const between = utf8('\r\n')
  const end = utf8(`--${boundary}--\r\n`)
  const sizeOf = ({ body }: Pick<Part, 'body'>) => (body instanceof Uint8Array ? body.length : body.bytes)
  const bytes = headed.reduce((sum, part) => sum + part.head.length + sizeOf(part) + between.length, end.length)
  async function* open() {
    for (const { head, body } of headed) {
      yield head
      if (body instanceof Uint8Array) yield body
      else yield* body.open()
      yield between
    }
    yield end
  }
  return { type: `multipart/form-data; boundary=${boundary}`, body: { bytes, open } }
}
