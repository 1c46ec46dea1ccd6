/** Shared by the tests of the TPM: one on its socket, open while it is used. */

import type { TestContext } from 'node:test'
import { createTpm, type Entity, type Tpm } from '../../../boot/tpm/command.ts'
import type { Registers } from '../../../boot/tpm/registers.ts'
import { withSealed } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { needs } from '../../support/tools.ts'
import { type Swtpm, startSwtpm } from './swtpm.ts'

export const HANDLE = 0x81430001

export const onTpm = () => needs('swtpm', 'tpm2_getcap')

export interface Rig {
  swtpm: Swtpm
  use<T>(work: (tpm: Tpm) => T, wrap?: (transport: Transport) => Transport): T
}

export async function makeRig(t: TestContext, state?: string): Promise<Rig> {
  const swtpm = await startSwtpm(t, state)
  return {
    swtpm,
    use: (work, wrap = (transport) => transport) => {
      const tpm = createTpm(wrap(swtpm.connect()))
      try {
        return work(tpm)
      } finally {
        tpm.close()
      }
    },
  }
}

/** Keeps a secret under HANDLE and gives what is needed to open it. */
export function keep(tpm: Tpm, secret: Uint8Array, registers: Registers, counter?: Entity): Entity {
  return withStorageKey(tpm, (storageKey) =>
    withSealed(tpm, storageKey, secret, { registers, counter }, ({ name, keepAs }) => {
      keepAs(HANDLE)
      return { handle: HANDLE, name }
    }),
  )
}
