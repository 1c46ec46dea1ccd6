/** The firmware of this boot manager's version. */

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface InstalledFirmware {
  program: string
  /** Additional readable files and directories (ending in a slash). */
  readable: readonly string[]
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export const programBeside = (firmware: string, name: keyof typeof SOURCES): string =>
  join(dirname(firmware), isBundled(firmware) ? `${name}.js` : SOURCES[name])

export const isBundled = (program: string): boolean => program.endsWith('.js')

const SOURCES = { chat: 'chat/process/main.ts', outgoing: 'outgoing/main.ts' }

/** In a bundle, the firmware is beside the boot manager; in development it runs from its sources. */
export function ownFirmware(): InstalledFirmware {
  if (import.meta.url.endsWith('.js')) return { program: path('./firmware.js'), readable: [path('./')] }
  return {
    program: path('../../firmware/main.ts'),
    readable: [
      path('../../firmware/'),
      path('../'),
      path('../../node_modules/'),
      path('../../package.json'),
      '/proc/self/maps', // better-sqlite3 reads it to select a binary; the bundle has a fixed one
    ],
  }
}
