/** How an upload is sent: its type, whether a browser may show it, and which bytes; RFC 9110 section 14, RFC 6266. */

/** What a browser shows without running anything in it; all else is a download. SVG and HTML would run scripts. */
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

/** Of the name's end alone: what the uploader says of the type is not believed. */
export const contentTypeOf = (name: string): string => typeOf(name) ?? UNKNOWN

const typeOf = (name: string): string | undefined => SHOWN.get(/\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? '')

/** Rights may end: nothing keeps a copy but the client that asked, which may ask whether it is still good. */
export const UPLOAD_CACHING = 'private, no-store'

/** Headers of an upload under its shown name. No script, plug-in or frame of it acts in the name of this origin. */
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

/** RFC 8187 section 3.2.1: what encodeURIComponent leaves alone and the header's grammar does not allow. */
const encodeExtended = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

interface ByteRange {
  from: number
  /** One after the last. */
  to: number
}

/**
 * The one range that is asked for: null for all of it, also where the header is no list of one range of bytes, which
 * RFC 9110 allows to ignore; `unsatisfiable` when it begins behind the end.
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
