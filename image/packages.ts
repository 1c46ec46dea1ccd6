/** The unpacked Debian packages of one image, as a place where files and libraries are looked up. */

import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs'
import type { Architecture } from './architecture.ts'
import { openDebian } from './debian.ts'
import { type LockedPackage, lockedPackages } from './package-lock.ts'

export interface UnpackedPackage extends LockedPackage {
  directory: string
}

export interface Packages {
  all: readonly UnpackedPackage[]
  get(name: string): UnpackedPackage
  kernel: UnpackedPackage
  /** The file that a shared library's name leads to, and its package. */
  library(name: string): { package: UnpackedPackage; file: string }
}

/** All that are locked, or those of them with these names. */
export function openPackages(architecture: Architecture, cache: string, names?: readonly string[]): Packages {
  const debian = openDebian(architecture, cache)
  const all = lockedPackages(architecture)
    .filter(({ name }) => names === undefined || names.includes(name))
    .map((locked) => ({ ...locked, directory: debian.unpack(locked) }))
  const get = (name: string) => {
    const found = all.find((unpacked) => unpacked.name === name)
    if (found !== undefined) return found
    throw new Error(`packages.lock.json does not have ${name}; tools/node image/update-lock.ts adds it`)
  }
  const places = ['lib', 'usr/lib'].map((directory) => `${directory}/${architecture.triplet}`)
  return {
    all,
    get,
    get kernel() {
      return all.find(({ name }) => /^linux-image-\d/.test(name)) ?? get(architecture.kernelPackage)
    },
    library: (name) => {
      for (const unpacked of all)
        for (const place of places) {
          const file = `${unpacked.directory}/${place}/${name}`
          if (existsSync(file)) return { package: unpacked, file: realpathSync(file) }
        }
      throw new Error(`no package of image/contents.ts has the library ${name}`)
    },
  }
}

/** Every plain file below `directory`, as paths relative to it. */
export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => lstatSync(`${directory}/${path}`).isFile())
    .sort()
}
