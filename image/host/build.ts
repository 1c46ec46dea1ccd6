/**
 * Makes Coffer as a program for somebody's Linux, with the Node that it is tested with: a package of Debian's, or an image for
 * containers. The same sources give the same bytes.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { bundle as makeBundle } from '../../tools/build.ts'
import { readArchitecture } from '../architecture.ts'
import { TIME } from '../contents.ts'
import { openNodeRuntime } from '../node-runtime.ts'
import { openPackages } from '../packages.ts'
import { makeCommand } from './command.ts'
import { licensesOf, makeDeb } from './deb.ts'
import { makeOci, OCI_PACKAGES } from './oci.ts'
import { makeProgram } from './program.ts'

const USAGE = `usage: node image/host/build.ts deb|oci --output DIRECTORY [option]...

  --arch x64|arm64      machine it is for; x64
  --version V           that of package.json`

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = `${root}/dist`

try {
  await build()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

async function build(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      arch: { type: 'string', default: 'x64' },
      output: { type: 'string' },
      version: { type: 'string', default: manifest.version },
    },
  })
  const [kind, ...more] = positionals
  const { version, output } = values
  if ((kind !== 'deb' && kind !== 'oci') || more.length > 0 || output === undefined) throw new Error(USAGE)
  const architecture = readArchitecture(values.arch)
  const scratch = mkdtempSync(`${tmpdir()}/coffer-host-`)
  try {
    const node = openNodeRuntime(architecture, `${cache}/node`)
    const bundle = `${scratch}/bundle`
    await makeBundle(bundle, version)
    const program = makeProgram(architecture, node, bundle)
    const licenses = licensesOf(root, bundle, node.directory)
    mkdirSync(output, { recursive: true })
    const write = (name: string, bytes: Buffer) => {
      writeFileSync(`${output}/${name}`, bytes)
      console.log(`${output}/${name}: Coffer ${version} for ${architecture.name}`)
    }
    if (kind === 'deb') {
      const { debian } = architecture
      const changes = readFileSync(`${root}/CHANGELOG.md`, 'utf8')
      const files = new Map([...program, ...makeCommand(bundle, version)])
      const deb = makeDeb({ program: files, version, architecture: debian, licenses, changes, time: TIME })
      write(`coffer_${version}_${debian}.deb`, deb)
    } else {
      const packages = openPackages(architecture, `${cache}/debian`, OCI_PACKAGES)
      const oci = makeOci({ architecture, packages, program, licenses: licenses.join('\n'), version, time: TIME })
      write(`coffer-${version}-${architecture.debian}.oci.tar`, oci)
    }
  } finally {
    rmSync(scratch, { recursive: true })
  }
}
