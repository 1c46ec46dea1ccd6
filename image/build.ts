/**
 * Makes an image of the appliance: the disk that is flashed, the kernel image that is on it, the update image that
 * brings it to an installed appliance, and the list of what is inside. The same sources give the same bytes.
 */

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bundle as makeBundle } from '../tools/build.ts'
import { makeImage } from '../tools/update-image.ts'
import { type Architecture, readArchitecture } from './architecture.ts'
import { makeCpio } from './cpio.ts'
import { makeDisk } from './disk.ts'
import { makeInitramfs } from './initramfs.ts'
import { openNodeRuntime } from './node-runtime.ts'
import { filesBelow, openPackages } from './packages.ts'
import { appendSections } from './pe.ts'
import { makeApp, makeBase } from './root.ts'
import { openSecureBoot } from './secure-boot.ts'
import { makeSquashfs } from './squashfs.ts'

const USAGE = `usage: node image/build.ts --output DIRECTORY [--arch x64|arm64] [--version V] [--rollback-floor V]
  [--bundle DIRECTORY] [--release-key PUB] [--release-signing-key KEY] [--secure-boot-keys DIRECTORY] [--probe]`

const PRODUCT = 'Coffer'
const TIME = 1793491200 // of every file: 2026-11-01. A device whose clock says less knows that it is wrong.

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = fileURLToPath(new URL('../dist', import.meta.url))

try {
  await build()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

async function build(): Promise<void> {
  const options = readOptions()
  const { architecture, version, output } = options
  const scratch = mkdtempSync(`${tmpdir()}/coffer-image-`)
  try {
    const packages = openPackages(architecture, `${cache}/debian`)
    const node = openNodeRuntime(architecture, `${cache}/node`)
    const bundle = options.bundle ?? `${scratch}/bundle`
    if (options.bundle === null) await makeBundle(bundle, version)
    const release = { product: PRODUCT, version, rollbackFloor: options.rollbackFloor }
    const base = makeBase(architecture, packages, node)
    const app = makeApp({ architecture, bundle, release, releaseKey: options.releaseKey })
    const initrd = makeCpio(makeInitramfs(packages, makeSquashfs(base, app, scratch, `${cache}/base`, TIME)))
    const kernel = packages.kernel.directory
    const vmlinuz = readFileSync(`${kernel}/boot/${filesBelow(`${kernel}/boot`).find((f) => f.startsWith('vmlinuz-'))}`)
    const commandLine = `console=${architecture.console} panic=-1 quiet`

    const secureBoot = openSecureBoot(options.secureBootKeys, scratch)
    const efi = `${packages.get('systemd-boot-efi').directory}/usr/lib/systemd/boot/efi`
    const unsigned = appendSections(readFileSync(`${efi}/${architecture.stub}`), [
      { name: '.osrel', bytes: Buffer.from(osRelease(version)) },
      { name: '.cmdline', bytes: Buffer.from(`${commandLine}\0`) },
      { name: '.initrd', bytes: initrd },
      { name: '.linux', bytes: vmlinuz },
    ])
    const uki = secureBoot.sign(unsigned)
    const loader = secureBoot.sign(readFileSync(`${efi}/${architecture.loader}`))

    mkdirSync(output, { recursive: true })
    writeFileSync(`${output}/vmlinuz`, vmlinuz)
    writeFileSync(`${output}/initrd`, initrd)
    writeFileSync(`${output}/cmdline`, `${commandLine}\n`)
    writeFileSync(`${output}/coffer-${version}.efi`, uki)
    if (options.signingKey !== null) {
      const update = { product: PRODUCT, version, minimumVersion: '0.0', releaseNotes: `Coffer ${version}.` }
      const payload = { name: `coffer-${architecture.name}.efi`, bytes: uki }
      writeFileSync(`${output}/coffer-${version}.update`, makeImage(update, [payload], options.signingKey))
    }
    makeDisk(
      `${output}/coffer-${version}.img`,
      scratch,
      [
        { path: `EFI/BOOT/${architecture.defaultLoader}`, bytes: loader },
        { path: `EFI/Linux/coffer_${version}.efi`, bytes: uki },
        { path: 'loader/loader.conf', bytes: Buffer.from(`timeout 0\neditor no\n${secureBoot.settings}`) },
        ...secureBoot.files,
      ],
      TIME,
    )
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

/** os-release(5); the boot loader shows and sorts images by what it says. */
function osRelease(version: string): string {
  return `NAME=Coffer\nID=coffer\nPRETTY_NAME="Coffer ${version}"\nVERSION_ID=${version}\n`
}

interface Options {
  architecture: Architecture
  output: string
  version: string
  rollbackFloor: string
  bundle: string | null
  releaseKey: string | null
  signingKey: KeyObject | null
  /** Directory of tools/secure-boot-keys.ts. */
  secureBootKeys: string | null
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', default: 'x64' },
      output: { type: 'string' },
      version: { type: 'string' },
      'rollback-floor': { type: 'string', default: '0.0' },
      bundle: { type: 'string' },
      'release-key': { type: 'string' },
      'release-signing-key': { type: 'string' },
      'secure-boot-keys': { type: 'string' },
      probe: { type: 'boolean', default: false },
    },
  })
  if (values.output === undefined) throw new Error(USAGE)
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as { version: string }
  const { 'release-key': releaseKey, 'release-signing-key': signingKey } = values
  return {
    architecture: readArchitecture(values.arch),
    output: resolve(values.output),
    version: values.version ?? manifest.version,
    rollbackFloor: values['rollback-floor'],
    bundle: values.bundle === undefined ? null : resolve(values.bundle),
    releaseKey: releaseKey === undefined ? null : readFileSync(releaseKey, 'utf8'),
    signingKey: signingKey === undefined ? null : createPrivateKey(readFileSync(signingKey)),
    secureBootKeys: values['secure-boot-keys'] ?? null,
  }
}
