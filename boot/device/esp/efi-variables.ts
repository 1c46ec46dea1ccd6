/** Variables of the UEFI firmware, read through the kernel's efivarfs. UEFI 2.10, section 8.2. */

import { readFileSync } from 'node:fs'
import { EFI_VARIABLES } from '../system/mounts.ts'

const ATTRIBUTE_BYTES = 4 // attributes precede the value

/** Null if the variable does not exist. `vendor` is a GUID in lowercase. */
export type ReadVariable = (name: string, vendor: string) => Uint8Array | null

/** Without UEFI no variable exists. */
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
