/**
 * `node tools/build.ts [directory]` bundles the programs: boot.js and device.js (boot managers of a host and of the
 * device) and firmware.js (server, API and crypto workers in one file), with the SQLite addon for each architecture
 * beside them. The same sources give the same bytes.
 */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'

const ARCHITECTURES = ['x64', 'arm64'] as const

const root = fileURLToPath(new URL('..', import.meta.url))
if (import.meta.main) await bundle(resolve(process.argv[2] ?? resolve(root, 'dist')))

/** Writes the programs into `directory`, which is emptied first. They say that they have `version`. */
export async function bundle(directory: string, version = manifestVersion()): Promise<void> {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { boot: 'boot/main.ts', device: 'boot/device/main.ts', firmware: 'firmware/main.ts' },
    outdir: directory,
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
    // CommonJS packages in an ES module bundle ask for Node's own modules through `require`.
    banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
    plugins: [versionOnly(version), sqliteBesideBundle()],
  })
  for (const architecture of ARCHITECTURES) {
    const addon = `linux-${architecture}.node`
    copyFileSync(resolve(root, 'node_modules/better-sqlite3/prebuilds', addon), resolve(directory, addon))
  }
  writeFileSync(resolve(directory, 'package.json'), '{ "type": "module" }\n')
  writeFileSync(resolve(directory, 'LICENSES.txt'), collectLicenses(metafile))
}

function manifestVersion(): string {
  return (JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string }).version
}

/** Of package.json the programs need the version only. */
function versionOnly(version: string): Plugin {
  return {
    name: 'version only',
    setup: ({ onLoad }) => {
      onLoad({ filter: /package\.json$/ }, ({ path }) =>
        path === resolve(root, 'package.json') ? { contents: JSON.stringify({ version }), loader: 'json' } : null,
      )
    },
  }
}

/** better-sqlite3 looks for its addon in its package; in the bundle it is the file beside, by architecture. */
function sqliteBesideBundle(): Plugin {
  const library = resolve(root, 'node_modules/better-sqlite3/lib')
  return {
    name: 'SQLite addon beside the bundle',
    setup: ({ onLoad }) => {
      onLoad({ filter: /better-sqlite3\/lib\/index\.js$/ }, () => ({
        contents: `
          const addon = './linux-' + process.arch + '.node'
          module.exports = require('./database')(() => require(addon), false)
          module.exports.SqliteError = require('./sqlite-error')`,
        resolveDir: library,
      }))
    },
  }
}

/** The licence texts of every bundled package, as most of them ask for. */
function collectLicenses({ inputs }: Metafile): string {
  const packages = new Set<string>()
  for (const input of Object.keys(inputs)) {
    const match = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
    if (match) packages.add(match[1]!)
  }
  return [...packages].sort().map(licenseOf).join('\n')
}

function licenseOf(name: string): string {
  const directory = resolve(root, 'node_modules', name)
  const { version, license } = JSON.parse(readFileSync(resolve(directory, 'package.json'), 'utf8')) as {
    version: string
    license: string
  }
  const file = readdirSync(directory).find((file) => /^licen[cs]e(\.\w+)?$/i.test(file))
  const text = file === undefined ? `Licence: ${license}\n` : readFileSync(resolve(directory, file), 'utf8')
  return `=== ${name} ${version} ===\n\n${text}`
}
