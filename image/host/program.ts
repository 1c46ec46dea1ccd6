/** Coffer as a program on somebody's Linux, with the Node that it is tested with: in one directory, for a package or a container. */

import { ADDONS } from '../../tools/build.ts'
import type { Architecture } from '../architecture.ts'
import { type NodeRuntime, programOf } from '../node-runtime.ts'
import { COFFER } from '../root.ts'
import { bytesOf, fileOf, type Tree } from '../tree.ts'

export const PLACE = 'usr/lib/coffer'

/** `bundle` is the directory that tools/build.ts wrote. */
export function makeProgram(architecture: Architecture, node: NodeRuntime, bundle: string): Tree {
  const tree: Tree = new Map()
  tree.set(`${PLACE}/node`, bytesOf(programOf(node), node.name, true))
  for (const name of ['boot.js', 'firmware.js', 'chat.js', 'chat-page.bin', 'outgoing.js', 'worker.js', 'package.json'])
    tree.set(`${PLACE}/${name}`, fileOf(`${bundle}/${name}`, COFFER))
  for (const [name, prefix] of Object.entries(ADDONS)) {
    const addon = `${prefix}linux-${architecture.name}.node`
    tree.set(`${PLACE}/${addon}`, fileOf(`${bundle}/${addon}`, name))
  }
  return tree
}
