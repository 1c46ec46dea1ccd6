/**
 * `node tools/build.ts [directory]` bundles the programs: boot.js and device.js (boot managers of a host and of the
 * device), firmware.js (server and API), chat.js (the team chat), chat-page.bin (its page), outgoing.js (connections to
 * others), worker.js (the crypto threads of firmware and chat) and coffer.mjs (the command), with the SQLite addons for each architecture beside them. The same sources give the same bytes.
 */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'
import type { ConsoleFiles } from '../firmware/kms/documents/console-endpoints.ts'
import { buildChatPage } from './build-chat-page.ts'
import { buildCommand } from './build-command.ts'
import { buildConsole } from './build-console.ts'

const ARCHITECTURES = ['x64', 'arm64'] as const

/** Packages with an addon for each architecture, and what its name begins with in the bundle. */
export const ADDONS = { 'better-sqlite3': '', 'better-sqlite3-multiple-ciphers': 'chat-' } as const

const root = fileURLToPath(new URL('..', import.meta.url))
if (import.meta.main) await bundle(resolve(process.argv[2] ?? resolve(root, 'dist')))

/**
 * Writes the programs into `directory`, beside what is there. They say that they have `version`. `plugins` come
 * before those that every bundle needs: a benchmark puts other parts in the place of ours.
 */
export async function bundle(directory: string, version = manifestVersion(), plugins: Plugin[] = []): Promise<void> {
  mkdirSync(directory, { recursive: true })
  const { metafile: ofConsole, ...page } = await buildConsole()
  const { metafile: ofChatPage, bytes: chatPage } = await buildChatPage()
  const { metafile: ofCommand, text: command } = await buildCommand(version)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      boot: 'boot/main.ts',
      device: 'boot/device/main.ts',
      firmware: 'firmware/main.ts',
      chat: 'firmware/chat/process/main.ts',
      outgoing: 'firmware/outgoing/main.ts',
      worker: 'firmware/crypto/pool/worker.ts',
    },
    outdir: directory,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    legalComments: 'eof',
    metafile: true,
    logLevel: 'warning',
    // CommonJS packages in an ES module bundle ask for Node's own modules through `require`.
    banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
    plugins: [
      ...plugins,
      versionOnly(version),
      withConsole({ ...page, command }),
      ...Object.keys(ADDONS).map(sqliteBesideBundle),
    ],
  })
  for (const [name, prefix] of Object.entries(ADDONS))
    for (const architecture of ARCHITECTURES) {
      const addon = `linux-${architecture}.node`
      copyFileSync(resolve(root, 'node_modules', name, 'prebuilds', addon), resolve(directory, prefix + addon))
    }
  writeFileSync(resolve(directory, 'package.json'), `${JSON.stringify({ type: 'module', version })}\n`)
  writeFileSync(resolve(directory, 'coffer.mjs'), command, { mode: 0o755 })
  writeFileSync(resolve(directory, 'chat-page.bin'), chatPage)
  const packages = bundledPackages(metafile, ofConsole, ofChatPage, ofCommand)
  writeFileSync(resolve(directory, 'LICENSES.txt'), packages.map(licenseOf).join('\n'))
  writeFileSync(resolve(directory, 'packages.json'), `${JSON.stringify(packages, null, 2)}\n`)
}

function manifestVersion(): string {
  return (JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string }).version
}

/** The programs need only the version of package.json. */
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

function withConsole(files: ConsoleFiles): Plugin {
  return {
    name: 'page for browsers',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\/console-files\.ts$/ }, () => ({
        contents: `export const consoleFiles = ${JSON.stringify(files)}`,
      }))
    },
  }
}

/** The package looks for its addon in itself; in the bundle it is the file beside, by architecture. */
function sqliteBesideBundle(name: string): Plugin {
  const library = resolve(root, 'node_modules', name, 'lib')
  return {
    name: `addon of ${name} beside the bundle`,
    setup: ({ onLoad }) => {
      onLoad({ filter: new RegExp(`node_modules/${name}/lib/index\\.js$`) }, () => ({
        contents: `
          const addon = './${ADDONS[name as keyof typeof ADDONS]}linux-' + process.arch + '.node'
          module.exports = require('./database')(() => require(addon), false)
          module.exports.SqliteError = require('./sqlite-error')`,
        resolveDir: library,
      }))
    },
  }
}

/** One entry of packages.json. */
export interface BundledPackage {
  name: string
  version: string
  /** An SPDX expression. */
  license: string
}

function bundledPackages(...metafiles: Metafile[]): BundledPackage[] {
  const names = new Set<string>()
  const outputs = metafiles.flatMap(({ outputs }) => Object.values(outputs))
  for (const [input, { bytesInOutput }] of outputs.flatMap(({ inputs }) => Object.entries(inputs))) {
    if (bytesInOutput === 0) continue // nobody uses what it has
    const match = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)
    if (match?.[1] !== undefined) names.add(match[1])
  }
  return [...names].sort().map((name) => {
    const { version, license } = JSON.parse(
      readFileSync(resolve(root, 'node_modules', name, 'package.json'), 'utf8'),
    ) as BundledPackage
    return { name, version, license }
  })
}

function licenseOf({ name, version, license }: BundledPackage): string {
  const directory = resolve(root, 'node_modules', name)
  const file = readdirSync(directory).find((file) => /^licen[cs]e(\.\w+)?$/i.test(file))
  const text = file === undefined ? `License: ${license}\n` : readFileSync(resolve(directory, file), 'utf8')
  return `=== ${name} ${version} ===\n\n${text}`
}
