/** The pages for browsers are bundled in the same way. */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { BuildOptions, Plugin } from 'esbuild'

export const PAGE_OPTIONS = {
  absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
  outdir: 'dist',
  bundle: true,
  write: false,
  metafile: true,
  minify: true,
  platform: 'browser',
  // `light-dark()` and `Uint8Array.fromBase64` need these as well.
  target: ['chrome133', 'firefox133', 'safari18.2'],
  format: 'esm',
  // Shorter than the automatic form, whose children are members; types are checked with that one.
  jsx: 'transform',
  jsxFactory: 'createElement',
  jsxFragment: 'Fragment',
  inject: ['firmware/web/jsx.ts'],
  tsconfigRaw: {},
  legalComments: 'none', // the licenses are in LICENSES.txt
  charset: 'utf8',
  logLevel: 'warning',
} satisfies BuildOptions

/**
 * Lets scripts on demand import all of the main one, so that what both need is in the main one. Otherwise esbuild makes a third script
 * of it, whose hundreds of exports weigh 7 KB. The entry that is left of main.tsx does nothing but import the main script.
 */
export const onDemandBesideMain = (scripts: RegExp, main: string): Plugin => ({
  name: 'scripts on demand beside the main one',
  setup: ({ onLoad }) => {
    onLoad({ filter: scripts }, ({ path }) => ({
      contents: `import '${main}'\n${readFileSync(path, 'utf8')}`,
      loader: 'ts',
    }))
  },
})
