/** Variables of the machine's UEFI firmware, as the kernel's efivarfs shows them. UEFI 2.10, section 8.2. */

import { readFileSync } from 'node:fs'
import { EFI_VARIABLES } from '../system/mounts.ts'

const ATTRIBUTE_BYTES = 4 // before the value

/** Null when there is none. `vendor` is a GUID in lowercase. */
export type ReadVariable = (name: string, vendor: string) => Uint8Array | null

/** Where the machine was not started through UEFI there is none at all. */
export function efiVariables(directory = EFI_VARIABLES): ReadVariable {
  return (name, vendor) => {
    try {
      return readFileSync(`${directory}/${name}-${vendor}`).subarray(ATTRIBUTE_BYTES)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }
}
