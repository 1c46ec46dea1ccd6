/** The command `coffer`, tools/coffer, as one file that runs on Node 20 and newer without packages. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The same sources give the same bytes. It says that it has `version`. */
export async function buildCommand(version = manifestVersion()): Promise<{ text: string; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['tools/coffer/main.ts'],
    outfile: 'dist/coffer.mjs',
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    minifyWhitespace: true, // half the size, and half of what a start has to read
    minifySyntax: true,
    charset: 'utf8',
    legalComments: 'eof',
    logLevel: 'warning',
    banner: { js: '#!/usr/bin/env node' },
    plugins: [
      {
        name: 'version only',
        setup: ({ onLoad }) => {
          onLoad({ filter: /package\.json$/ }, () => ({ contents: JSON.stringify({ version }), loader: 'json' }))
        },
      },
    ],
  })
  return { text: outputFiles[0]!.text, metafile }
}

function manifestVersion(): string {
  return (JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string }).version
}
