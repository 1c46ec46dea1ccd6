/** The pages for browsers are bundled in the same way. */

import { fileURLToPath } from 'node:url'
import type { BuildOptions } from 'esbuild'

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
