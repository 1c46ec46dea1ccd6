/** `node image/update-lock.ts [x64] [arm64]` moves packages.lock.json to the newest versions in Debian's archive. */

import { fileURLToPath } from 'node:url'
import { defined } from '../firmware/base/defined.ts'
import { type Architecture, readArchitecture } from './architecture.ts'
import { packagesOf } from './contents.ts'
import { openDebian } from './debian.ts'
import { type LockedPackage, lockPackages } from './package-lock.ts'

const cache = fileURLToPath(new URL('../dist/debian', import.meta.url))

const names = process.argv.length > 2 ? process.argv.slice(2) : ['x64', 'arm64']
try {
  for (const architecture of names.map(readArchitecture)) update(architecture)
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

function update(architecture: Architecture): void {
  const debian = openDebian(architecture, cache)
  const newest = (name: string): LockedPackage => {
    const found = debian.newest(name)
    if (found === null) throw new Error(`Debian has no package ${name} for ${architecture.debian}`)
    return found
  }
  const packages = packagesOf(architecture).map((name) =>
    // The kernel's name changes with its binary interface; the package that is always called the same depends on it.
    newest(name === architecture.kernelPackage ? defined(debian.dependencies(name)[0]) : name),
  )
  lockPackages(architecture, packages)
  console.log(`${architecture.name}: ${packages.map(({ name, version }) => `${name} ${version}`).join(', ')}`)
}
