/** packages.lock.json: which Debian packages the image is made of, to the byte. */

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Architecture } from './architecture.ts'

export interface LockedPackage {
  name: string
  version: string
  /** Hash of the .deb file. */
  sha256: string
}

type Lock = { [architecture in Architecture['name']]?: LockedPackage[] }

const PATH = fileURLToPath(new URL('packages.lock.json', import.meta.url))

export function lockedPackages({ name }: Architecture): LockedPackage[] {
  const packages = readLock()[name]
  if (packages !== undefined) return packages
  throw new Error(`packages.lock.json has no packages for ${name}; tools/node image/update-lock.ts ${name} finds them`)
}

export function lockPackages({ name }: Architecture, packages: readonly LockedPackage[]): void {
  const sorted = packages.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  writeFileSync(PATH, `${JSON.stringify({ ...readLock(), [name]: sorted }, null, 2)}\n`)
}

const readLock = (): Lock => JSON.parse(readFileSync(PATH, 'utf8')) as Lock
