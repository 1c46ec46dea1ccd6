/**
 * The read-only root file system in two layers: Node and etcd with a few programs of Debian and the libraries these ask for,
 * which seldom changes, and Coffer in /app.
 */

import { existsSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ADDONS } from '../tools/build.ts'
import type { Architecture } from './architecture.ts'
import { FIRMWARE_PACKAGES, NETWORK_MODULES, PROGRAMS } from './contents.ts'
import type { EtcdProgram } from './etcd-program.ts'
import { addLibraries } from './libraries.ts'
import { addModules, openKernelModules } from './modules.ts'
import { type NodeRuntime, programOf } from './node-runtime.ts'
import { filesBelow, type Packages } from './packages.ts'
import { bytesOf, directory, fileOf, link, type Tree } from './tree.ts'

const MOUNT_POINTS = ['data', 'dev', 'efi', 'proc', 'run', 'sys', 'tmp']

export const COFFER = 'coffer'

interface Base {
  architecture: Architecture
  packages: Packages
  node: NodeRuntime
  etcd: EtcdProgram | null
}

/** Everything but /app. */
export function makeBase({ architecture, packages, node, etcd }: Base): Tree {
  const tree: Tree = new Map()
  for (const path of MOUNT_POINTS) tree.set(path, directory)
  // One place for programs and one for libraries, under the names that programs know them by.
  for (const path of ['bin', 'sbin']) tree.set(path, link(`usr/${path}`))

  for (const { package: name, path } of PROGRAMS)
    tree.set(`usr/${path.replace(/^usr\//, '')}`, fileOf(`${packages.get(name).directory}/${path}`, name, true))
  tree.set('usr/bin/node', bytesOf(programOf(node), node.name, true))
  if (etcd !== null) {
    tree.set('usr/bin/etcd', bytesOf(etcd.program, etcd.name, true))
    tree.set('usr/share/doc/etcd/LICENSES.txt', bytesOf(etcd.licenses, etcd.name))
  }
  tree.set('usr/sbin/init', fileOf(fileURLToPath(new URL('sbin-init', import.meta.url)), COFFER, true))
  const { name, directory: e2fsprogs } = packages.get('e2fsprogs')
  tree.set('etc/mke2fs.conf', fileOf(`${e2fsprogs}/etc/mke2fs.conf`, name))
  for (const [path, text] of Object.entries(SETTINGS)) tree.set(path, bytesOf(Buffer.from(text), COFFER))

  const modules = openKernelModules(architecture, packages)
  const network = modules.ordered(NETWORK_MODULES)
  addModules(tree, modules, network, packages.kernel.name)
  for (const path of new Set(network.flatMap(({ firmware }) => firmware)))
    for (const { name, directory } of FIRMWARE_PACKAGES.map(packages.get)) {
      const file = `${directory}/lib/firmware/${path}`
      if (existsSync(file)) tree.set(`usr/lib/firmware/${path}`, fileOf(realpathSync(file), name))
    }

  addAuthorities(tree, packages)
  addLibraries(tree, architecture, packages)
  return tree
}

/** Adds the authorities that may issue certificates of NTS servers. */
function addAuthorities(tree: Tree, packages: Packages): void {
  const { name, directory } = packages.get('ca-certificates')
  const place = 'usr/share/ca-certificates/mozilla'
  for (const file of filesBelow(`${directory}/${place}`))
    tree.set(`${place}/${file}`, fileOf(`${directory}/${place}/${file}`, name))
}

interface ImageApp {
  architecture: Architecture
  /** Directory that tools/build.ts wrote. */
  bundle: string
  release: { product: string; version: string; rollbackFloor: string }
  /** PEM of the key that updates must be signed with; null: this image takes no updates. */
  releaseKey: string | null
}

export function makeApp({ architecture, bundle, release, releaseKey }: ImageApp): Tree {
  const tree: Tree = new Map()
  for (const name of [
    'device.js',
    'firmware.js',
    'chat.js',
    'chat-page.bin',
    'outgoing.js',
    'worker.js',
    'package.json',
    'LICENSES.txt',
  ])
    tree.set(`app/${name}`, fileOf(`${bundle}/${name}`, COFFER))
  for (const [name, prefix] of Object.entries(ADDONS)) {
    const addon = `${prefix}linux-${architecture.name}.node`
    tree.set(`app/${addon}`, fileOf(`${bundle}/${addon}`, name))
  }
  tree.set('app/release.json', bytesOf(Buffer.from(`${JSON.stringify(release)}\n`), COFFER))
  if (releaseKey !== null) tree.set('app/release.pub', bytesOf(Buffer.from(releaseKey), COFFER))
  return tree
}

/** Files that the C library reads. */
const SETTINGS = {
  'etc/passwd':
    'root:x:0:0:root:/:/bin/false\ncoffer:x:1000:1000:Coffer:/data/store:/bin/false\ntime:x:1001:1001:chronyd:/:/bin/false\nchat:x:1002:1002:Coffer chat:/data/chat:/bin/false\netcd:x:1003:1003:etcd:/data/etcd:/bin/false\noutgoing:x:1004:1004:Coffer outgoing:/:/bin/false\n',
  'etc/group': 'root:x:0:\ncoffer:x:1000:\ntime:x:1001:\nchat:x:1002:\netcd:x:1003:\noutgoing:x:1004:\n',
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
}
