/** The bundle with the probe in it. It differs from a release in the two entries only. */

import { resolve } from 'node:path'
import type { Plugin } from 'esbuild'
import { bundle } from '../../../tools/build.ts'

const PLACES: Readonly<Record<string, string>> = {
  'boot/device/main.ts': 'device.ts',
  'firmware/main.ts': 'firmware.ts',
}

export const bundleProbe = (directory: string): Promise<void> => bundle(directory, undefined, [probeInPlace])

const probeInPlace: Plugin = {
  name: 'probe in place of the entries',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/main\.ts$/ }, ({ kind, path }) => {
      const place = kind === 'entry-point' ? PLACES[path.replace('./', '')] : undefined
      return place === undefined ? null : { path: resolve(import.meta.dirname, place) }
    })
  },
}
