/** The Node runtime of an image: the npm package of its architecture, in the version and with the hash of our lock. */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defined } from '../firmware/base/defined.ts'
import type { Architecture } from './architecture.ts'
import { stripped } from './elf.ts'
import { withLock } from './lock.ts'
import { run } from './run.ts'
import { withoutLanguages } from './unicode-data.ts'

export interface NodeRuntime {
  name: string
  version: string
  /** As npm writes it: `sha512-` and base64. */
  integrity: string
  directory: string
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** Fetched once into `cache`; the machine's own, which `npm ci` installed and checked, is not looked at. */
export function openNodeRuntime({ npmPackage }: Architecture, cache: string): NodeRuntime {
  const lock = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>
  }
  const { version, integrity } = defined(lock.packages[`node_modules/${npmPackage}`])
  const directory = `${cache}/${npmPackage}-${version}`
  if (!existsSync(directory))
    withLock(cache, () => {
      if (!existsSync(directory)) fetch(npmPackage, version, integrity, directory)
    })
  return { name: npmPackage, version, integrity, directory }
}

function fetch(npmPackage: string, version: string, integrity: string, directory: string): void {
  const download = `${directory}.new`
  rmSync(download, { recursive: true, force: true })
  mkdirSync(download, { recursive: true })
  run('npm', ['pack', '--loglevel=error', '--pack-destination', download, `${npmPackage}@${version}`], {
    cwd: download,
  })
  const archive = `${download}/${readdirSync(download)[0]}`
  const actual = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (actual !== integrity)
    throw new Error(`${npmPackage} ${version} has the hash ${actual}; package-lock.json says ${integrity}`)
  run('tar', ['--extract', '--file', archive, '--directory', download, '--no-same-owner', '--strip-components=1'])
  rmSync(archive)
  renameSync(download, directory)
}

/** Node without its symbols and without the data of languages other than English, half of its size. */
export const programOf = ({ directory }: NodeRuntime): Buffer =>
  withoutLanguages(stripped(readFileSync(`${directory}/bin/node`)))

/** The parts of Node and their versions. They are those of this very process, which runs the same version of Node. */
export function partsOfNode({ name, version }: NodeRuntime): Record<string, string> {
  if (process.versions.node !== version)
    throw new Error(`this is Node ${process.versions.node}; an image with ${name} ${version} is made by that version`)
  const { node, modules, napi, ...parts } = process.versions // without itself, and the names of its interfaces
  // Empty: what this build of Node was made without.
  return Object.fromEntries(Object.entries(parts).filter((part): part is [string, string] => !!part[1]))
}
