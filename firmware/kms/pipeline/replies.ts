/** Builds answers from results and declarations. */

import { RequestError } from '../../http/errors.ts'
import {
  bodyReply,
  emptyReply,
  JSON_TYPE,
  jsonReply,
  type Reply,
  type StreamedReply,
  streamReply,
} from '../../http/reply.ts'
import { acceptable, mediaType } from '../../http/request/media.ts'
import { BASE_PATH, type Declaration, type Result } from './endpoint.ts'

/** Acceptable types of the answer; empty for an answer without a body. */
export function answerTypes<S>({ answers }: Declaration<S>, accept: string | undefined): readonly string[] {
  if ('empty' in answers) return []
  const offered =
    'types' in answers
      ? answers.types
      : [JSON_TYPE, ...(answers.textType === undefined ? [] : [mediaType(answers.textType)])]
  const types = acceptable(offered, accept)
  if (types.length === 0) throw new RequestError(406, `The answer has type ${offered.join(' or ')}`)
  return types
}

/** Returns the text type, with its parameters, if the client prefers it to JSON. */
export function textType<S>({ answers }: Declaration<S>, [best]: readonly string[]): string | undefined {
  const type = 'json' in answers ? answers.textType : undefined
  return type !== undefined && best === mediaType(type) ? type : undefined
}

export function responseHeaders<S>(
  { method, noCache, headers }: Declaration<S>,
  etag: string | undefined,
): Record<string, string> {
  return {
    ...(etag !== undefined && method === 'GET' && { etag }),
    ...(noCache && { 'cache-control': 'no-cache' }),
    ...headers,
  }
}

export function replyOf(
  result: Result,
  types: readonly string[],
  textType: string | undefined,
  headers: Record<string, string>,
  onFailure: (error: unknown) => void,
): Reply | StreamedReply {
  if ('headers' in result) Object.assign(headers, result.headers)
  if ('location' in result && result.location !== undefined) headers.location = BASE_PATH + result.location
  if ('reply' in result)
    return BODILESS.has(result.status)
      ? emptyReply(result.status, headers)
      : jsonReply(result.status, result.reply, headers)
  if ('bytes' in result) {
    const bytes = result.bytes as Uint8Array<ArrayBuffer>
    return bodyReply(result.status, bytes, typeOf(result.type, types), headers)
  }
  if ('file' in result) {
    const { file, type } = result
    headers['content-length'] = String(file.length)
    return streamReply(200, piecesOf(file), typeOf(type, types), headers, onFailure)
  }
  if ('stream' in result) return streamReply(result.status, result.stream, result.type, headers, onFailure)
  if ('json' in result && result.json !== undefined) {
    const text = 'text' in result ? result.text : undefined
    if (textType === undefined || text === undefined) return jsonReply(result.status, result.json, headers)
    return bodyReply(result.status, text(), textType, headers)
  }
  return emptyReply(result.status, headers)
}

/** RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Returns `type` if the client accepts it, else the type that the client prefers. */
const typeOf = (type: string, types: readonly string[]): string => (types.includes(type) ? type : (types[0] ?? type))

const PIECE_BYTES = 16 * 1024 // size of a TLS record

async function* piecesOf(file: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < file.length; start += PIECE_BYTES) yield file.subarray(start, start + PIECE_BYTES)
}
