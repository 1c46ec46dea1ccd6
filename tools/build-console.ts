/**
 * The page for browsers, firmware/console, as the texts that the appliance serves: HTML, scripts and a style sheet. What few visits need
 * is in a script of its own, which the page loads on demand. Scripts and style sheet are named by a hash of their contents, so that
 * browsers may keep them for ever.
 */

import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
import { defined } from '../firmware/base/defined.ts'
import { onDemandBesideMain, PAGE_OPTIONS } from './page-build.ts'

interface BuiltFile {
  name: string
  text: string
}

interface BuiltConsole {
  html: string
  /** The main one first. */
  scripts: BuiltFile[]
  css: BuiltFile
  metafile: Metafile
}

const source = fileURLToPath(new URL('../firmware/console', import.meta.url))
const ENTRY = 'firmware/console/main.tsx'

/** The same sources give the same bytes. */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputFiles, metafile } = await build({
    ...PAGE_OPTIONS,
    entryPoints: [ENTRY, 'firmware/console/style.css'],
    entryNames: '[hash]',
    chunkNames: '[hash]',
    splitting: true,
    plugins: [onDemandBesideMain(/\/firmware\/console\/on-demand\.ts$/, './main.tsx')],
  })
  const files = outputFiles.map(({ path, text }) => ({ name: basename(path), text }))
  const css = defined(files.find(({ name }) => name.endsWith('.css')))
  const [entry, { imports }] = defined(
    Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === ENTRY),
  )
  const main = defined(files.find(({ name }) => name === basename(defined(imports[0]).path)))
  const others = files.filter((file) => ![main, css].includes(file) && file.name !== basename(entry))
  const html = readFileSync(resolve(source, 'index.html'), 'utf8')
    .replace('/console/main.js', `/console/${main.name}`)
    .replace('/console/style.css', `/console/${css.name}`)
  return { html, scripts: [main, ...others], css, metafile }
}
