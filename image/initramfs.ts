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
  const loaded = new Set<string>()
  for (const [list, names] of Object.entries({ root: ROOT_MODULES, rest: MODULES })) {
    const modules = orderModules(`${packages.kernel.directory}/lib/modules`, names).filter((path) => !loaded.has(path))
    for (const path of modules) {
      loaded.add(path)
      tree.set(`modules/${basename(path)}`, fileOf(path, packages.kernel.name))
    }
    tree.set(`modules/${list}`, bytesOf(Buffer.from(modules.map((path) => `${basename(path)}\n`).join('')), COFFER))
  }
  return tree
}

/** The files of the modules and of what they depend on, each after what it depends on. */
function orderModules(directory: string, modules: readonly string[]): string[] {
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
  for (const name of modules) add(name)
  return [...ordered]
}

// The kernel takes - and _ in names of modules for the same.
const nameOf = (path: string): string => basename(path, '.ko').replaceAll('-', '_')

/** From the module's own description, `depends=a,b`. */
function dependenciesOf(path: string): string[] {
  const names = /\0depends=([^\0]*)\0/.exec(readFileSync(path, 'latin1'))?.[1] ?? ''
  return names === '' ? [] : names.split(',').map(nameOf)
}
