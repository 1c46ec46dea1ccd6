/** The initramfs: the kernel's modules, and what opens the root file system: busybox and dmsetup. */

import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Architecture } from './architecture.ts'
import {
  BUSYBOX,
  DISK_MODULES,
  DMSETUP,
  MODULES,
  MODULES_ON_REQUEST,
  ROOT_MODULES,
  SOFTWARE_WATCHDOG,
  WATCHDOGS,
} from './contents.ts'
import { addLibraries } from './libraries.ts'
import { addModules, openKernelModules } from './modules.ts'
import type { Packages } from './packages.ts'
import { COFFER } from './root.ts'
import { bytesOf, directory, fileOf, link, type Tree } from './tree.ts'

export function makeInitramfs(architecture: Architecture, packages: Packages): Tree {
  const tree: Tree = new Map()
  for (const path of ['dev', 'proc', 'root', 'sys']) tree.set(path, directory)
  for (const { package: name, path } of [BUSYBOX, DMSETUP])
    tree.set(path, fileOf(`${packages.get(name).directory}/${path}`, name, true))
  addLibraries(tree, architecture, packages)
  tree.set('init', fileOf(fileURLToPath(new URL('init', import.meta.url)), COFFER, true))
  const lists = { watchdogs: WATCHDOGS, softdog: [SOFTWARE_WATCHDOG], root: ROOT_MODULES, rest: MODULES }
  const modules = openKernelModules(architecture, packages)
  for (const [list, names] of Object.entries(lists)) {
    const files = modules.ordered(names).map(({ file }) => `${basename(file)}\n`)
    tree.set(`modules/${list}`, bytesOf(Buffer.from(files.join('')), COFFER))
  }
  const all = modules.ordered([...Object.values(lists).flat(), ...DISK_MODULES, ...Object.values(MODULES_ON_REQUEST)])
  addModules(tree, modules, all, packages.kernel.name, MODULES_ON_REQUEST)
  tree.set('sbin/modprobe', link('../bin/busybox')) // which the kernel starts
  return tree
}
