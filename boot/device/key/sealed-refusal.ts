/** Explains for the terminal why the TPM does not release the key. */

import { MalformedError } from '../../tpm/bytes.ts'
import { TpmError } from '../../tpm/error.ts'

/** Rethrows errors that are neither refusals of the TPM nor errors of its device. */
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
