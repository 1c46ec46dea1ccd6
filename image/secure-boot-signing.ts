/**
 * Secure Boot with keys of one's own: signs what the firmware starts, and has a machine that has no keys yet enrol them.
 * sbsign(1); loader.conf(5), secure-boot-enroll.
 */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { DiskFile } from './disk.ts'
import { run } from './run.ts'

export interface SecureBoot {
  sign(program: Uint8Array): Buffer
  /** Files from which the boot loader enrolls keys. */
  files: DiskFile[]
  settings: string
}

/** `directory` is one that tools/secure-boot-keys.ts made; null: nothing is signed, and nothing enrolled. */
export function openSecureBoot(directory: string | null, scratch: string): SecureBoot {
  if (directory === null) return { sign: Buffer.from, files: [], settings: '' }
  const [key, certificate] = [`${directory}/db.key`, `${directory}/db.crt`]
  const variables = ['PK', 'KEK', 'db'].map((name) => ({ name: `${name}.auth`, path: `${directory}/${name}.auth` }))
  for (const path of [key, certificate, ...variables.map(({ path }) => path)])
    if (!existsSync(path)) throw new Error(`${path} is missing; tools/secure-boot-keys.ts makes it`)
  return {
    sign: (program) => {
      const [unsigned, signed] = [`${scratch}/unsigned.efi`, `${scratch}/signed.efi`]
      writeFileSync(unsigned, program)
      try {
        run('sbsign', ['--key', key, '--cert', certificate, '--output', signed, unsigned])
        return readFileSync(signed)
      } finally {
        for (const path of [unsigned, signed]) rmSync(path, { force: true })
      }
    },
    files: variables.map(({ name, path }) => ({ path: `loader/keys/auto/${name}`, bytes: readFileSync(path) })),
    // Only where the firmware is in setup mode: it asks for no confirmation, and restarts the machine.
    settings: 'secure-boot-enroll force\n',
  }
}
