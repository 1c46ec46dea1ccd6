/**
 * The page of the chat, firmware/chat-page, as one file that the chat's process reads parts of: the length of an index, the index, and
 * the files it lists, plain and compressed. One file, so that update images, which have no folders, take it as they take others.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'
import { build, type Metafile, type Plugin } from 'esbuild'
import { defined } from '../firmware/base/defined.ts'
import { INDEX_LENGTH_BYTES, type PageFile, SERVICE_WORKER_PATH } from '../firmware/chat/process/page-files.ts'
import { onDemandBesideMain, PAGE_OPTIONS } from './page-build.ts'

const HASH_CHARACTERS = 16 // 64 bits: it only has to differ between versions
const ENTRY = 'firmware/chat-page/main.tsx'
const source = fileURLToPath(new URL('../firmware/chat-page', import.meta.url))

interface BuiltPage {
  /** For `dist/chat-page.bin`. */
  bytes: Uint8Array
  /** The HTML first, then the main script. `language`: one of several files with that path. */
  files: (SourceFile & { brotli: Uint8Array })[]
  metafile: Metafile
}

interface SourceFile {
  path: string
  type: string
  content: Uint8Array
  language?: string
}

/** The first one is for browsers that ask for none of them. */
const LANGUAGES = ['en', 'de'] as const
type Language = (typeof LANGUAGES)[number]

/** The same sources give the same bytes. */
export async function buildChatPage(): Promise<BuiltPage> {
  const { metafile: ofCodeWorker, ...codeWorker } = await buildCodeWorker()
  const pages = []
  for (const language of LANGUAGES) pages.push(await buildIn(language, codeWorker))
  const byName = new Map<string, SourceFile>()
  for (const file of pages.flatMap(({ files }) => files)) byName.set(`${file.path} ${file.language ?? ''}`, file)
  const files = [...byName.values()].map((file) => ({ ...file, brotli: compress(file.content) }))
  const metafiles = [...pages.map(({ metafile }) => metafile), ofCodeWorker]
  const metafile = {
    inputs: Object.assign({}, ...metafiles.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...metafiles.map(({ outputs }) => outputs)),
  }
  return { bytes: pack(files), files, metafile }
}

/** The page with the words of the language in its main script. */
async function buildIn(language: Language, codeWorker: SourceFile) {
  const others = LANGUAGES.filter((one) => one !== language).join('|')
  const onDemand = new RegExp(`/firmware/chat-page/(?:on-demand/[\\w-]+|words/(?:${others}))\\.ts$`)
  const { outputFiles, metafile } = await build({
    ...PAGE_OPTIONS,
    define: { CODE_WORKER: JSON.stringify(codeWorker.path), BUILT_IN: JSON.stringify(language) },
    entryPoints: [ENTRY, 'firmware/chat-page/style.css'],
    entryNames: '[hash]',
    chunkNames: '[hash]',
    splitting: true,
    plugins: [withWords(language), onDemandBesideMain(onDemand, '../main.tsx')],
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
  const chunks = scripts.filter((script) => script !== main && script.path !== pathOf(entry))
  const html = readFileSync(resolve(source, 'index.html'), 'utf8')
    .replace('/page/main.js', main.path)
    .replace('/page/style.css', style.path)
    .replace('/page/icon.svg', icon.path)
  const page = { path: '/', type: 'text/html; charset=utf-8', content: Buffer.from(html), language }
  const stored: SourceFile[] = [main, ...chunks, codeWorker, style, icon]
  const worker = await buildServiceWorker(stored.map(({ path }) => path))
  return { files: [page, ...stored, { ...worker, language }], metafile }
}

/** Puts words of the language in the place of those that words.ts imports. */
const withWords = (language: Language): Plugin => ({
  name: `words of ${language}`,
  setup: ({ onResolve }) => {
    onResolve({ filter: /^\.\/en\.ts$/ }, ({ kind, importer }) =>
      kind === 'import-statement' && importer.endsWith('/words/words.ts')
        ? { path: resolve(source, `words/${language}.ts`) }
        : null,
    )
  },
})

/** The worker that splits code into tokens. It is loaded when code is shown. */
async function buildCodeWorker() {
  const { outputFiles, metafile } = await build({
    ...PAGE_OPTIONS,
    entryPoints: ['firmware/chat-page/code-worker.ts'],
    format: 'iife',
    inject: [],
  })
  return { ...named(defined(outputFiles[0]).contents, 'js', 'text/javascript'), metafile }
}

/** `paths` are the files that the worker stores: its content, and so the worker, changes with each of them. */
async function buildServiceWorker(paths: readonly string[]) {
  const { outputFiles } = await build({
    ...PAGE_OPTIONS,
    entryPoints: ['firmware/chat-page/service-worker.ts'],
    format: 'iife',
    inject: [],
    define: { FILES: JSON.stringify(paths) },
  })
  return { path: SERVICE_WORKER_PATH, type: 'text/javascript', content: defined(outputFiles[0]).contents }
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
    ({ path, type, content, brotli, language }): PageFile => ({
      ...{ path, type, plain: place(content), brotli: place(brotli) },
      ...(language !== undefined && { language }),
      etag: createHash('sha256').update(content).digest('base64url'),
    }),
  )
  const text = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(INDEX_LENGTH_BYTES)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text, ...files.flatMap(({ content, brotli }) => [content, brotli])])
}
