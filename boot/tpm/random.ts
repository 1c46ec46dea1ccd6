/** Random bytes of the TPM: an additional source, which never replaces the kernel's. TPM 2.0 Library Part 3, 16.1. */

import { join, MalformedError, u16 } from './bytes.ts'
import type { Tpm } from './command.ts'

const BYTES_MAX = 32 // a TPM returns at least the length of its largest hash

export function randomOf(tpm: Tpm, bytes: number): Uint8Array {
  let made: Uint8Array = new Uint8Array(0)
  while (made.length < bytes) {
    const more = tpm.run('GetRandom', { parameters: u16(Math.min(BYTES_MAX, bytes - made.length)) }).sized()
    if (more.length === 0) throw new MalformedError('no random bytes')
    made = join(made, more)
  }
  return made
}
