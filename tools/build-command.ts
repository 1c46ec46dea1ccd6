/** The command `coffer`, tools/coffer, as one file that runs on Node 20 and newer without packages. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'
import { defined } from '../firmware/base/defined.ts'

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
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
    },
    plugins: [
      partsOfNode,
      {
        name: 'version only',
        setup: ({ onLoad }) => {
          onLoad({ filter: /package\.json$/ }, () => ({ contents: JSON.stringify({ version }), loader: 'json' }))
        },
      },
    ],
  })
  return { text: defined(outputFiles[0]).text, metafile }
}

/**
 * Loads only the named parts of a module of Node, when the code that names them runs. An import would load each module at the
 * start, with every part that Node itself loads late: twice the time of a start.
 */
const partsOfNode: Plugin = {
  name: 'parts of Node',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^node:/ }, ({ path, kind }) => {
      if (kind === 'require-call') return null
      return { path, namespace: kind === 'dynamic-import' ? 'all of Node' : 'parts of Node' }
    })
    onLoad({ filter: /./, namespace: 'all of Node' }, ({ path }) => ({
      contents: `module.exports = require('${path}')`,
    }))
    onLoad({ filter: /./, namespace: 'parts of Node' }, ({ path }) => {
      const parts = Object.keys(defined(process.getBuiltinModule(path))).map(
        (name) => `export const ${name} = /* @__PURE__ */ part('${name}')`,
      )
      return { contents: [`const part = (name) => require('${path}')[name]`, ...parts].join('\n') }
    })
  },
}

function manifestVersion(): string {
  return (JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string }).version
}
