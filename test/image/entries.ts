/** Bundles of test builds, which differ from a release in their entries only. */

import { resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { bundle } from '../../tools/build.ts'

/** By the path of an entry in the project, such as `boot/device/main.ts`: what stands in its place, in this directory. */
export type Entries = Readonly<Record<string, string>>

export function bundleWith(entries: Entries, directory: string): Promise<void> {
  const inPlace: Plugin = {
    name: 'others in place of the entries',
    setup: ({ onResolve }) => {
      onResolve({ filter: /\/main\.ts$/ }, ({ kind, path }) => {
        const place = kind === 'entry-point' ? entries[path.replace('./', '')] : undefined
        return place === undefined ? null : { path: resolve(import.meta.dirname, place) }
      })
    },
  }
  return bundle(directory, undefined, [inPlace])
}
