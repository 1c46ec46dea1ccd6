/** Bundles an earlier commit of this repository. */

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/**
 * Unpacks the sources of `commit` into the new directory `sources` and bundles them into `directory`. Returns the Node of that commit.
 * Needs the network for packages that are not here in the same version.
 */
export function bundleCommit(commit: string, sources: string, directory: string): string {
  mkdirSync(sources)
  const archive = `${sources}.tar`
  execFileSync('git', ['archive', `--output=${archive}`, commit], { cwd: root })
  execFileSync('tar', ['--extract', `--file=${archive}`, `--directory=${sources}`])
  const lockOf = (directory: string) => readFileSync(join(directory, 'package-lock.json'), 'utf8')
  if (hasPackages(lockOf(root), lockOf(sources))) symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'))
  else execFileSync('npm', ['ci', '--silent'], { cwd: sources, stdio: 'inherit' })
  const node = join(sources, 'tools/node')
  cpSync(join(root, 'tools/node'), node) // older versions have none
  execFileSync(node, [join(sources, 'tools/build.ts'), directory], { cwd: sources })
  return node
}

interface Lock {
  /** By their places; the place of the project itself is ''. */
  packages: Record<string, { version?: string; integrity?: string }>
}

/** True if all packages of the lock `wanted` are among those of the lock `installed`, at the same places and with the same contents. */
export function hasPackages(installed: string, wanted: string): boolean {
  const { packages } = JSON.parse(installed) as Lock
  return Object.entries((JSON.parse(wanted) as Lock).packages).every(([place, { version, integrity }]) => {
    const own = packages[place]
    return place === '' || (own !== undefined && own.version === version && own.integrity === integrity)
  })
}
