/**
 * The chat page, read from the disk on request, so that it takes no memory. It is served in every state, so that users see "Sealed" instead
 * of an error. Contract section 3.10.
 */

import { closeSync, openSync, read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { defined } from '../../base/defined.ts'
import type { Log } from '../../base/log.ts'
import { prefixOf } from '../../base/login-limiter.ts'
import { FOR_EVER, NEWEST, pageHeaders } from '../../http/page-headers.ts'
import { bodyReply, emptyReply, type Reply, toResponse } from '../../http/reply.ts'
import { etagOf, judge } from '../../http/request/conditions.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { acceptsCoding } from '../pipeline/compression.ts'
import { failureReply } from '../pipeline/envelope.ts'
import { createRateLimiter, RATE_LIMITS } from '../pipeline/rate-limit.ts'

/** One file of the page. tools/build-chat-page.ts concatenates all of them, after an index. */
export interface PageFile {
  readonly path: string
  readonly type: string
  readonly etag: string
  /** Language of one of several files with that path. The first of them is for browsers that ask for none of the languages. */
  readonly language?: string
  /** Position in the file, also that of the Brotli-compressed form if there is one. */
  readonly plain: readonly [offset: number, bytes: number]
  readonly brotli?: readonly [offset: number, bytes: number]
}

export const INDEX_LENGTH_BYTES = 4
const INDEX_BYTES_MAX = 64 * 1024 // a few hundred files

/** All of these serve the same HTML, which reads the address. */
const HTML_PATHS: ReadonlySet<string> = new Set(['/', '/join/', '/login/', '/password/'])
const MANIFEST_PATH = '/manifest.webmanifest'
/** Its content changes under the same name, which the browser's registration has. */
export const SERVICE_WORKER_PATH = '/service-worker.js'
const NAME_WHILE_LOCKED = 'Coffer'

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

const HTML_HEADERS = {
  ...HEADERS,
  ...pageHeaders(
    {
      'img-src': "'self' blob: data:",
      'media-src': "'self' blob:",
      'font-src': "'self'",
      'connect-src': "'self'",
      'worker-src': "'self'",
      'manifest-src': "'self'",
    },
    'coffer',
  ),
}

interface PageFilesOptions {
  /** Null when running from source, which has no page. */
  file: URL | null
  realmName: () => string | null
  /** Unix time, for the headers of the rate limit. */
  timeS: () => number
  log: Log
  /** Must be monotonic. */
  nowMs?: () => number
}

interface PageFiles {
  /** Undefined for paths outside of the page. */
  answer(exchange: Exchange): Promise<Response> | undefined
  close(): void
}

export function openPageFiles(options: PageFilesOptions): PageFiles | undefined {
  const { file, realmName, timeS, log, nowMs = () => performance.now() } = options
  const descriptor = file === null ? undefined : openIfThere(file, log)
  if (descriptor === undefined) return undefined
  const { files, start } = readIndex(descriptor)
  const limiter = createRateLimiter(RATE_LIMITS.media, nowMs, timeS)

  const readPart = async ([offset, bytes]: PageFile['plain']): Promise<Uint8Array<ArrayBuffer>> => {
    const content = new Uint8Array(bytes)
    const { bytesRead } = await promisify(read)(descriptor, content, 0, bytes, start + offset)
    if (bytesRead !== bytes) throw new Error('The file of the page is shorter than its index says')
    return content
  }

  async function fileReply(file: PageFile, exchange: Exchange): Promise<Reply> {
    const isHtml = file.path === '/'
    const part = acceptsCoding(exchange.header('accept-encoding') ?? '', 'br') ? file.brotli : undefined
    const etag = etagOf(`${file.etag}${part === undefined ? '' : ' br'}`)
    const headers = {
      ...(isHtml ? HTML_HEADERS : HEADERS),
      'cache-control': isHtml || file.path === SERVICE_WORKER_PATH ? NEWEST : FOR_EVER,
      ...(file.brotli && {
        vary: file.language === undefined ? 'accept-encoding' : 'accept-encoding, accept-language',
      }),
      etag,
    }
    return (
      unchanged(exchange, etag, headers) ??
      bodyReply(200, await readPart(part ?? file.plain), file.type, {
        ...headers,
        ...(part && { 'content-encoding': 'br' }),
      })
    )
  }

  function manifestReply(exchange: Exchange): Reply {
    const icon = files.find(({ type }) => type === 'image/svg+xml')
    const text = JSON.stringify({
      name: realmName() ?? NAME_WHILE_LOCKED,
      start_url: '/',
      display: 'standalone',
      icons: icon === undefined ? [] : [{ src: icon.path, sizes: 'any', type: icon.type }],
    })
    const etag = etagOf(text)
    const headers = { ...HEADERS, 'cache-control': NEWEST, etag }
    return unchanged(exchange, etag, headers) ?? bodyReply(200, text, 'application/manifest+json', headers)
  }

  async function reply(path: string, file: PageFile | undefined, exchange: Exchange): Promise<Reply> {
    limiter.take(prefixOf(exchange.address))
    if (exchange.method !== 'GET' && exchange.method !== 'HEAD') return wrongMethod()
    return path === MANIFEST_PATH ? manifestReply(exchange) : fileReply(defined(file), exchange)
  }

  return {
    answer(exchange) {
      const [path = ''] = exchange.target.split('?', 1)
      const wanted = HTML_PATHS.has(path) ? '/' : path
      const file = inLanguage(
        files.filter((one) => one.path === wanted),
        exchange.header('accept-language') ?? '',
      )
      if (file === undefined && path !== MANIFEST_PATH) return undefined
      return reply(path, file, exchange)
        .catch((error) => failureReply(error, log))
        .then(toResponse)
    },
    close: () => closeSync(descriptor),
  }
}

/** A version that was installed without the page still serves the API. */
function openIfThere(file: URL, log: Log): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    log.warning('chat', `cannot open the page: ${(error as NodeJS.ErrnoException).code}`)
    return undefined
  }
}

/** RFC 9110 section 12.5.4. Undefined without files. */
function inLanguage(files: readonly PageFile[], acceptLanguage: string): PageFile | undefined {
  const ranges = acceptLanguage.split(',').map((range) => {
    const [tag = '', quality = ''] = range.split(';').map((piece) => piece.trim().toLowerCase())
    return { language: tag.replace(/-.*/, ''), weight: Number(/^q=([\d.]+)$/.exec(quality)?.[1] ?? 1) }
  })
  for (const { language, weight } of ranges.sort((a, b) => b.weight - a.weight)) {
    const file = files.find((one) => one.language === language)
    if (file !== undefined && weight > 0) return file
  }
  return files[0]
}

function readIndex(descriptor: number): { files: readonly PageFile[]; start: number } {
  const length = Buffer.alloc(INDEX_LENGTH_BYTES)
  readSync(descriptor, length)
  const bytes = Math.min(length.readUInt32BE(), INDEX_BYTES_MAX)
  const index = Buffer.alloc(bytes)
  readSync(descriptor, index, 0, bytes, INDEX_LENGTH_BYTES)
  return { files: JSON.parse(index.toString()) as PageFile[], start: INDEX_LENGTH_BYTES + bytes }
}

function unchanged({ header }: Exchange, etag: string, headers: Readonly<Record<string, string>>): Reply | undefined {
  const conditions = { ifMatch: header('if-match'), ifNoneMatch: header('if-none-match') }
  const verdict = judge(conditions, { etag }, true)
  return verdict === 'proceed' ? undefined : emptyReply(verdict, headers)
}

function wrongMethod(): Reply {
  const allowed = ['GET', 'HEAD']
  const body = { result: 'error', msg: 'Method Not Allowed', code: 'BAD_REQUEST', allowed_methods: allowed }
  return bodyReply(405, JSON.stringify(body), 'application/json; charset=utf-8', { allow: allowed.join(', ') })
}
