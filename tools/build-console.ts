/**
 * The page for browsers, firmware/console, as the three texts that the appliance serves: HTML, one script and one style sheet.
 * Script and style sheet are named by their contents, so that browsers may keep them for ever.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'

/** What `/` and `/console/` answer. */
interface BuiltConsole {
  html: string
  /** `<hash>.js`, to be served as `/console/<hash>.js`. */
  js: { name: string; text: string }
  css: { name: string; text: string }
  /** For the list of bundled packages. */
  metafile: Metafile
}

const HASH_CHARACTERS = 16 // 64 bits: it only has to differ between versions
const root = fileURLToPath(new URL('..', import.meta.url))
const source = resolve(root, 'firmware/console')

/** The same sources give the same bytes. */
export async function buildConsole(): Promise<BuiltConsole> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: { console: 'firmware/console/main.tsx', style: 'firmware/console/style.css' },
    outdir: 'dist',
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    platform: 'browser',
    // What `light-dark()` and `Uint8Array.fromBase64` ask for as well.
    target: ['chrome133', 'firefox133', 'safari18.2'],
    format: 'iife',
    // Shorter than the automatic form, whose children are members; types are checked with that one.
    jsx: 'transform',
    jsxFactory: 'createElement',
    jsxFragment: 'Fragment',
    inject: ['firmware/web/jsx.ts'],
    tsconfigRaw: {},
    legalComments: 'none', // the licences are in LICENSES.txt
    charset: 'utf8',
    logLevel: 'warning',
  })
  const text = (extension: string) => outputFiles.find(({ path }) => path.endsWith(extension))!.text
  const js = named(text('.js'), 'js')
  const css = named(text('.css'), 'css')
  const html = readFileSync(resolve(source, 'index.html'), 'utf8')
    .replace('/console/main.js', `/console/${js.name}`)
    .replace('/console/style.css', `/console/${css.name}`)
  return { html, js, css, metafile }
}

function named(text: string, extension: string): { name: string; text: string } {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS)
  return { name: `${hash}.${extension}`, text }
}
