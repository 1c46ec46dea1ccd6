/**
 * The page of the chat, firmware/chat-page, as one file that the chat's process reads parts of: the length of an index, the index, and
 * the files it lists, plain and compressed. One file, so that update images, which have no folders, take it as they take others.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build, type Metafile } from 'esbuild'
import { defined } from '../firmware/base/defined.ts'
import { INDEX_LENGTH_BYTES, type PageFile } from '../firmware/chat/process/page-files.ts'
import { onDemandBesideMain, PAGE_OPTIONS } from './page-build.ts'

const HASH_CHARACTERS = 16 // 64 bits: it only has to differ between versions
const ENTRY = 'firmware/chat-page/main.tsx'
const source = fileURLToPath(new URL('../firmware/chat-page', import.meta.url))

interface BuiltPage {
  /** For `dist/chat-page.bin`. */
  bytes: Uint8Array
  /** The HTML first, then the main script. */
  files: { path: string; type: string; content: Uint8Array; brotli: Uint8Array }[]
  metafile: Metafile
}

/** The same sources give the same bytes. */
export async function buildChatPage(): Promise<BuiltPage> {
  const { outputFiles, metafile } = await build({
    ...PAGE_OPTIONS,
    entryPoints: [ENTRY, 'firmware/chat-page/style.css'],
    entryNames: '[hash]',
    chunkNames: '[hash]',
    splitting: true,
    plugins: [onDemandBesideMain(/\/firmware\/chat-page\/on-demand\/\w+\.ts$/, '../main.tsx')],
  })
  const style = named(defined(outputFiles.find(({ path }) => path.endsWith('.css'))).contents, 'css', 'text/css')
  const icon = named(readFileSync(resolve(source, 'icon.svg')), 'svg', 'image/svg+xml')
  const scripts = outputFiles
    .filter(({ path }) => path.endsWith('.js'))
    .map(({ path, contents }) => ({ path: pathOf(path), type: 'text/javascript', content: contents }))
  const [entry, { imports }] = defined(
    Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === ENTRY),
  )
  const main = defined(scripts.find(({ path }) => path === pathOf(defined(imports[0]).path)))
  const others = scripts.filter((script) => script !== main && script.path !== pathOf(entry))
  const html = readFileSync(resolve(source, 'index.html'), 'utf8')
    .replace('/page/main.js', main.path)
    .replace('/page/style.css', style.path)
    .replace('/page/icon.svg', icon.path)
  const page = { path: '/', type: 'text/html; charset=utf-8', content: Buffer.from(html) }
  const files = [page, main, ...others, style, icon].map((file) => ({ ...file, brotli: compress(file.content) }))
  return { bytes: pack(files), files, metafile }
}

const pathOf = (output: string): string => `/page/${basename(output)}`

function named(content: Uint8Array, extension: string, type: string) {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, HASH_CHARACTERS)
  return { path: `/page/${hash}.${extension}`, type, content }
}

const compress = (content: Uint8Array): Uint8Array =>
  brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } })

function pack(files: BuiltPage['files']): Uint8Array {
  let offset = 0
  const place = (content: Uint8Array): [number, number] => {
    const at: [number, number] = [offset, content.length]
    offset += content.length
    return at
  }
  const index = files.map(
    ({ path, type, content, brotli }): PageFile => ({
      ...{ path, type, plain: place(content), brotli: place(brotli) },
      etag: createHash('sha256').update(content).digest('base64url'),
    }),
  )
  const text = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(INDEX_LENGTH_BYTES)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text, ...files.flatMap(({ content, brotli }) => [content, brotli])])
}
