/** Why the TPM gives no key, in words for the console. */

import { MalformedError } from '../../tpm/bytes.ts'
import { TpmError } from '../../tpm/error.ts'

/** Throws what is neither a refusal nor an error of the device. */
export function refusalOf(error: unknown): string {
  if (error instanceof TpmError) return HINTS[error.response ?? ''] ?? error.message
  if (error instanceof MalformedError) return `the TPM answers with ${error.message}`
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) throw error
  return `the TPM cannot be used: ${code}`
}

const HINTS: Record<string, string> = {
  authFail: 'the TPM has an owner already; clear it in the settings of the firmware',
  badAuth: 'the TPM has an owner already; clear it in the settings of the firmware',
  hierarchy: 'the TPM is disabled in the settings of the firmware',
  nvSpace: 'the TPM has no room for it; clear it in the settings of the firmware',
  failure: 'the TPM has failed its own test',
}
