/** The initramfs: the kernel's modules, and what opens the root file system: busybox and dmsetup. */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Architecture } from './architecture.ts'
import { BUSYBOX, DMSETUP, MODULES, ROOT_MODULES } from './contents.ts'
import { addLibraries } from './libraries.ts'
import { filesBelow, type Packages } from './packages.ts'
import { COFFER } from './root.ts'
import { bytesOf, directory, fileOf, type Tree } from './tree.ts'

export function makeInitramfs(architecture: Architecture, packages: Packages): Tree {
  const tree: Tree = new Map()
  for (const path of ['dev', 'proc', 'root', 'sys']) tree.set(path, directory)
  for (const { package: name, path } of [BUSYBOX, DMSETUP])
    tree.set(path, fileOf(`${packages.get(name).directory}/${path}`, name, true))
  addLibraries(tree, architecture, packages)
  tree.set('init', fileOf(fileURLToPath(new URL('init', import.meta.url)), COFFER, true))
  const lists = orderModules(`${packages.kernel.directory}/lib/modules`, { root: ROOT_MODULES, rest: MODULES })
  for (const [list, modules] of Object.entries(lists)) {
    for (const path of modules) tree.set(`modules/${basename(path)}`, fileOf(path, packages.kernel.name))
    tree.set(`modules/${list}`, bytesOf(Buffer.from(modules.map((path) => `${basename(path)}\n`).join('')), COFFER))
  }
  return tree
}

/** Of each list the files, each after what it depends on, without those that a list before it has. */
function orderModules(directory: string, lists: Record<string, readonly string[]>): Record<string, string[]> {
  const files = filesBelow(directory)
  const paths = new Map(files.filter((file) => file.endsWith('.ko')).map((file) => [nameOf(file), file]))
  const builtIn = readFileSync(`${directory}/${files.find((file) => file.endsWith('/modules.builtin'))}`, 'utf8')
  const absent = new Set(builtIn.split('\n').map(nameOf))
  const ordered = new Set<string>()
  const add = (name: string) => {
    if (absent.has(name)) return
    const path = paths.get(name)
    if (path === undefined) throw new Error(`the kernel has no module ${name}`)
    for (const dependency of dependenciesOf(`${directory}/${path}`)) add(dependency)
    ordered.add(`${directory}/${path}`)
  }
  const filesOf = (names: readonly string[]): string[] => {
    const before = ordered.size
    for (const name of names) add(name)
    return [...ordered].slice(before)
  }
  return Object.fromEntries(Object.entries(lists).map(([list, names]) => [list, filesOf(names)]))
}

// The kernel takes - and _ in names of modules for the same.
const nameOf = (path: string): string => basename(path, '.ko').replaceAll('-', '_')

/** From the module's own description, `depends=a,b`. */
function dependenciesOf(path: string): string[] {
  const names = /\0depends=([^\0]*)\0/.exec(readFileSync(path, 'latin1'))?.[1] ?? ''
  return names === '' ? [] : names.split(',').map(nameOf)
}
