/**
 * The page for browsers, firmware/console, as the texts that the appliance serves: HTML, two scripts and one style sheet. The second script verifies
 * signatures and audit logs, and is loaded when somebody asks for that.
 * Scripts and style sheet are named by their contents, so that browsers may keep them for ever.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Metafile } from 'esbuild'

/** What `/` and `/console/` answer. */
interface BuiltConsole {
  html: string
  /** `<hash>.js`, to be served as `/console/<hash>.js`. */
  js: { name: string; text: string }
  css: { name: string; text: string }
  verification: { name: string; text: string }
  /** For the list of bundled packages. */
  metafile: Metafile
}

const HASH_CHARACTERS = 16 // 64 bits: it only has to differ between versions
const root = fileURLToPath(new URL('..', import.meta.url))
const source = resolve(root, 'firmware/console')

const COMMON = {
  absWorkingDir: root,
  outdir: 'dist',
  bundle: true,
  write: false,
  metafile: true,
  minify: true,
  platform: 'browser',
  // What `light-dark()` and `Uint8Array.fromBase64` ask for as well.
  target: ['chrome133', 'firefox133', 'safari18.2'],
  tsconfigRaw: {},
  legalComments: 'none', // the licences are in LICENSES.txt
  charset: 'utf8',
  logLevel: 'warning',
} satisfies BuildOptions

/** The same sources give the same bytes. */
export async function buildConsole(): Promise<BuiltConsole> {
  const lazy = await build({
    ...COMMON,
    entryPoints: { verification: 'firmware/console/verification.ts' },
    format: 'esm',
  })
  const verification = named(lazy.outputFiles[0]!.text, 'js')
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: { console: 'firmware/console/main.tsx', style: 'firmware/console/style.css' },
    define: { VERIFICATION_SCRIPT: JSON.stringify(`/console/${verification.name}`) },
    external: ['/console/*'],
    format: 'iife',
    // Shorter than the automatic form, whose children are members; types are checked with that one.
    jsx: 'transform',
    jsxFactory: 'createElement',
    jsxFragment: 'Fragment',
    inject: ['firmware/web/jsx.ts'],
  })
  const text = (extension: string) => outputFiles.find(({ path }) => path.endsWith(extension))!.text
  const js = named(text('.js'), 'js')
  const css = named(text('.css'), 'css')
  const html = readFileSync(resolve(source, 'index.html'), 'utf8')
    .replace('/console/main.js', `/console/${js.name}`)
    .replace('/console/style.css', `/console/${css.name}`)
  const inputs = { ...metafile.inputs, ...lazy.metafile.inputs }
  return { html, js, css, verification, metafile: { ...metafile, inputs } }
}

function named(text: string, extension: string): { name: string; text: string } {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_CHARACTERS)
  return { name: `${hash}.${extension}`, text }
}
