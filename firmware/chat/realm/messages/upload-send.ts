/** Sends an upload, or a range of it, while reading it from disk. RFC 9110 section 14. */

import { CofferError } from '../../../base/error.ts'
import { CHUNK_BYTES } from '../../store/files.ts'
import type { UploadRow } from '../../store/uploads.ts'
import type { Realm } from '../model/realm.ts'
import { fileHeaders, requestedRange } from '../objects/upload-serving.ts'

export type UploadedFile = Pick<UploadRow, 'id' | 'path' | 'name' | 'sizeBytes' | 'time'>

interface FileReply {
  status: 200 | 206 | 416
  headers: Record<string, string>
  chunks: AsyncIterable<Uint8Array>
}

interface SendOptions {
  range: string | undefined
  download: boolean
  isHead: boolean
  /** Throws if the request's authorization was lost; then the rest is not sent. */
  check: () => void
}

export function sendUpload(
  realm: Realm,
  upload: UploadedFile,
  { range, download, isHead, check }: SendOptions,
): FileReply {
  const { sizeBytes } = upload
  const headers = fileHeaders(upload.name, download)
  const wanted = requestedRange(range, sizeBytes)
  if (wanted === 'unsatisfiable') {
    const { 'accept-ranges': accepts = 'bytes' } = headers
    const refused = { 'accept-ranges': accepts, 'content-range': `bytes */${sizeBytes}`, 'content-length': '0' }
    return { status: 416, headers: refused, chunks: chunksOf(realm, upload, 0, 0, check) }
  }
  const { from, to } = wanted ?? { from: 0, to: sizeBytes }
  headers['content-length'] = String(to - from)
  if (wanted !== null) headers['content-range'] = `bytes ${from}-${to - 1}/${sizeBytes}`
  return {
    status: wanted === null ? 200 : 206,
    headers,
    chunks: chunksOf(realm, upload, from, isHead ? from : to, check),
  }
}

async function* chunksOf(
  realm: Realm,
  { id }: UploadedFile,
  from: number,
  to: number,
  check: () => void,
): AsyncGenerator<Uint8Array, void> {
  for (let at = from; at < to; ) {
    check()
    const number = Math.floor(at / CHUNK_BYTES)
    const chunk = realm.store.files.read(id, number)
    const offset = at - number * CHUNK_BYTES
    if (chunk === undefined || chunk.length <= offset) throw new CofferError('storage', 'A file is not whole')
    const bytes = chunk.subarray(offset, offset + to - at)
    yield bytes
    at += bytes.length
  }
}
