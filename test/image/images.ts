/** Images for tests, each built once for what is in it, and disks flashed with them. */

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { hasGo } from '../../image/etcd-program.ts'
import type { Kernel, QemuArchitecture } from '../../tools/qemu/arguments.ts'
import { flash } from '../../tools/qemu/flash.ts'
import { makeReleaseKey } from '../../tools/release-key.ts'
import { BUNDLE_SOURCES } from '../support/build.ts'
import { onMachines } from '../support/machine.ts'
import { inProject, madeOnce, ROOT } from '../support/made-once.ts'

const CACHE = join(ROOT, 'dist/test-image')
const IMAGES_MAX = 20 // kept in the cache, some 200 MB each
const BUILD_MS_MAX = 900_000 // the first one compiles etcd

interface ImageOptions {
  architecture?: QemuArchitecture
  version?: string
  /** Directory of device.js and firmware.js to put on the image instead of the sources as they are. */
  bundle?: string
  secureBootKeys?: string
  extra?: string[]
}

export interface Image {
  directory: string
  version: string
  disk: string
  uki: string
  root: string
  update: string
  kernel: Kernel
}

const DEFAULT_VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

const SOURCES = [...BUNDLE_SOURCES, ...inProject('image', 'tools/update-image.ts')]

/** Options of a test that needs an image with etcd on it. In CI it always is. */
export const needsGo = (): ReturnType<typeof onMachines> =>
  hasGo() || process.env.CI === 'true'
    ? onMachines()
    : { ...onMachines(), skip: 'to run this: install Go, see image/etcd/README.md' }

/** The image of these sources; from the cache when nothing in it has changed. Its release key is `releaseKey()`. */
export async function buildImage(options: ImageOptions = {}): Promise<Image> {
  const { architecture = 'x64', version = DEFAULT_VERSION, bundle, secureBootKeys, extra = [] } = options
  const key = releaseKey()
  const parameters = ['--arch', architecture, '--version', version, ...extra]
  const etcd = hasGo() ? ['with etcd'] : []
  const input = Object.entries({
    'release-key': key.publicPath,
    'release-signing-key': key.path,
    bundle,
    'secure-boot-keys': secureBootKeys,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const directory = await madeOnce({
    stem: join(CACHE, 'image'),
    parameters: [...parameters, ...etcd],
    sources: [...SOURCES, ...input],
    kept: IMAGES_MAX,
    make: (unfinished) =>
      runRecipe([...parameters, ...input.flatMap(([name, path]) => [`--${name}`, path])], unfinished),
  })
  return describeImage(directory, version)
}

async function runRecipe(parameters: string[], directory: string): Promise<void> {
  const command = [join(ROOT, 'image/build.ts'), ...parameters, '--output', directory]
  await promisify(execFile)(process.execPath, command, { cwd: ROOT, timeout: BUILD_MS_MAX, maxBuffer: 1 << 26 })
}

function describeImage(directory: string, version: string): Image {
  const path = (name: string) => join(directory, name)
  const commandLine = readFileSync(path('cmdline'), 'utf8').trim()
  return {
    directory,
    version,
    disk: path(`coffer-${version}.img`),
    uki: path(`coffer-${version}.efi`),
    root: path(`coffer-${version}.root`),
    update: path(`coffer-${version}.update`),
    kernel: { image: path('vmlinuz'), initrd: path('initrd'), commandLine },
  }
}

/** The release key of all test images, made when it is missing and never outside the build directory. */
export function releaseKey(): { path: string; publicPath: string } {
  const directory = join(CACHE, 'release-key')
  const stem = join(directory, 'release')
  if (!existsSync(directory)) {
    mkdirSync(CACHE, { recursive: true })
    const unfinished = mkdtempSync(`${directory}.`)
    makeReleaseKey(join(unfinished, 'release'))
    try {
      renameSync(unfinished, directory)
    } catch (error) {
      rmSync(unfinished, { recursive: true })
      if (!existsSync(directory)) throw error // else another test file has made it meanwhile
    }
  }
  return { path: `${stem}.key`, publicPath: `${stem}.pub` }
}

export function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-image-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export function makeDisk(t: TestContext, image: Image, bytes?: number): string {
  const disk = join(makeDirectory(t), 'disk.img')
  flash(image.disk, disk, bytes)
  return disk
}
