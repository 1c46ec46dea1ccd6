/** Images for tests, each built once for what is in it, and disks flashed with them. */

import { execFile } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Architecture, Kernel } from '../../tools/qemu/arguments.ts'
import { flash } from '../../tools/qemu/flash.ts'
import { makeReleaseKey } from '../../tools/release-key.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'dist/test-image')
const IMAGES_MAX = 20 // kept in the cache, some 200 MB each
const BUILD_MS_MAX = 300_000

export interface ImageOptions {
  architecture?: Architecture
  version?: string
  /** Directory of device.js and firmware.js to put on the image instead of the sources as they are. */
  bundle?: string
  /** Directory of tools/secure-boot-keys.ts. */
  secureBootKeys?: string
  /** Further arguments of image/build.ts. */
  extra?: string[]
}

export interface Image {
  directory: string
  version: string
  disk: string
  uki: string
  /** The root file system that it names, and its hash tree. */
  root: string
  /** The signed update image. */
  update: string
  kernel: Kernel
}

const DEFAULT_VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

/** What an image is made of and by. */
const SOURCES = [
  'firmware',
  'boot',
  'image',
  'tools/build.ts',
  'tools/update-image.ts',
  'package.json',
  'package-lock.json',
]

/** The image of these sources; from the cache when nothing in it has changed. Its release key is `releaseKey()`. */
export async function buildImage(options: ImageOptions = {}): Promise<Image> {
  const { architecture = 'x64', version = DEFAULT_VERSION, bundle, secureBootKeys, extra = [] } = options
  const key = releaseKey()
  const parameters = ['--arch', architecture, '--version', version, ...extra]
  const hash = createHash('sha256').update(JSON.stringify(parameters))
  for (const part of SOURCES) hashTree(hash, join(ROOT, part), part)
  const given = {
    'release-key': key.publicPath,
    'release-signing-key': key.path,
    bundle,
    'secure-boot-keys': secureBootKeys,
  }
  for (const [name, path] of Object.entries(given)) {
    if (path === undefined) continue
    parameters.push(`--${name}`, path)
    hashTree(hash, path, name)
  }
  const directory = join(CACHE, `image-${hash.digest('hex').slice(0, 16)}`)
  if (!existsSync(directory)) await runRecipe(parameters, directory)
  utimesSync(directory, new Date(), new Date())
  dropOldImages()
  return describeImage(directory, version)
}

async function runRecipe(parameters: string[], directory: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true })
  const unfinished = mkdtempSync(`${directory}.`)
  try {
    const command = [join(ROOT, 'image/build.ts'), ...parameters, '--output', unfinished]
    await promisify(execFile)(process.execPath, command, { cwd: ROOT, timeout: BUILD_MS_MAX, maxBuffer: 1 << 26 })
    renameSync(unfinished, directory)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (existsSync(directory)) return // built by somebody else meanwhile
    throw new Error('the image was not built', { cause: error })
  }
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
  const stem = join(CACHE, 'keys/release')
  if (!existsSync(`${stem}.pub`)) {
    mkdirSync(join(CACHE, 'keys'), { recursive: true })
    makeReleaseKey(stem)
  }
  return { path: `${stem}.key`, publicPath: `${stem}.pub` }
}

/** `name` stands for the path: the same content elsewhere is the same. */
function hashTree(hash: Hash, path: string, name: string): void {
  if (statSync(path).isDirectory()) {
    for (const entry of readdirSync(path).sort())
      if (!entry.endsWith('.md')) hashTree(hash, join(path, entry), `${name}/${entry}`)
    return
  }
  const bytes = readFileSync(path)
  hash.update(`${name}\n${bytes.length}\n`).update(bytes)
}

function dropOldImages(): void {
  const images = readdirSync(CACHE).filter((name) => /^image-[0-9a-f]{16}$/.test(name))
  const byUse = images.map((name) => ({ path: join(CACHE, name), used: statSync(join(CACHE, name)).mtimeMs }))
  byUse.sort((a, b) => b.used - a.used)
  for (const { path } of byUse.slice(IMAGES_MAX)) rmSync(path, { recursive: true, force: true })
}

/** A directory of the test's own. */
export function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-image-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A disk of the test's own, flashed with the image. */
export function makeDisk(t: TestContext, image: Image, bytes?: number): string {
  const disk = join(makeDirectory(t), 'disk.img')
  flash(image.disk, disk, bytes)
  return disk
}
