/** The shared libraries that the programs of a tree need, at the places where programs look for them. */

import { basename } from 'node:path'
import type { Architecture } from './architecture.ts'
import { neededLibraries } from './elf.ts'
import type { Packages } from './packages.ts'
import { directory, fileOf, link, type Tree } from './tree.ts'

/** Adds the libraries that the programs in `tree` ask for, and those that these ask for. All are below /usr. */
export function addLibraries(tree: Tree, architecture: Architecture, packages: Packages): void {
  for (const path of ['lib', 'lib64']) tree.set(path, link(`usr/${path}`))
  tree.set('usr/lib64', directory)
  const linker = basename(architecture.linker)
  const waiting = [...tree.values()]
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (entry.type !== 'file') continue
    for (const name of neededLibraries(entry.bytes)) {
      const path = name === linker ? `usr/${architecture.linker}` : `usr/lib/${architecture.triplet}/${name}`
      if (tree.has(path)) continue
      const { package: from, file } = packages.library(name)
      const library = fileOf(file, from.name, name === linker)
      tree.set(path, library)
      waiting.push(library)
    }
  }
}
