/** Response headers and byte ranges of uploads. RFC 9110 section 14, RFC 6266. */

/** Types that browsers display without running scripts. All others, such as SVG and HTML, are downloads. */
const SHOWN = new Map([
  ['png', 'image/png'],
  ['apng', 'image/apng'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['avif', 'image/avif'],
  ['mp4', 'video/mp4'],
  ['webm', 'video/webm'],
  ['mp3', 'audio/mpeg'],
  ['m4a', 'audio/mp4'],
  ['aac', 'audio/aac'],
  ['flac', 'audio/flac'],
  ['ogg', 'audio/ogg'],
  ['wav', 'audio/wav'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain; charset=utf-8'],
])
const UNKNOWN = 'application/octet-stream'

/** Derived from the extension only: the type that the uploader states is not trusted. */
export const contentTypeOf = (name: string): string => typeOf(name) ?? UNKNOWN

const typeOf = (name: string): string | undefined => SHOWN.get(/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '')

/** Rights may end, so no cache may store an upload. */
export const UPLOAD_CACHING = 'private, no-store'

/**
 * `shownName` is the file name for the client. The content security policy keeps scripts, plug-ins and frames in the upload from acting
 * with this origin.
 */
export function fileHeaders(shownName: string, download: boolean): Record<string, string> {
  const type = typeOf(shownName)
  const form = type === undefined || download ? 'attachment' : 'inline'
  const ascii = shownName.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  return {
    'content-type': type ?? UNKNOWN,
    'content-disposition': `${form}; filename="${ascii}"; filename*=UTF-8''${encodeExtended(shownName)}`,
    'content-security-policy':
      "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': UPLOAD_CACHING,
    'accept-ranges': 'bytes',
  }
}

/** RFC 8187 section 3.2.1: also encodes the characters that encodeURIComponent leaves as they are and the grammar excludes. */
const encodeExtended = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

interface ByteRange {
  from: number
  /** Exclusive. */
  to: number
}

/**
 * Returns null for the complete file, also if the header is not a single byte range, which RFC 9110 allows a server to ignore. Returns
 * `unsatisfiable` if the range begins after the end.
 */
export function requestedRange(header: string | undefined, sizeBytes: number): ByteRange | null | 'unsatisfiable' {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') {
    const from = Math.max(0, sizeBytes - Number(last))
    return from === sizeBytes ? 'unsatisfiable' : { from, to: sizeBytes }
  }
  const from = Number(first)
  const to = last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1)
  if (from >= sizeBytes) return 'unsatisfiable'
  return to > from ? { from, to } : null
}
