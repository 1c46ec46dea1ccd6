/** Refusal by the TPM, with the name of its response code. TPM 2.0 Library Part 2, 6.6. */

import type { CommandCode } from './command.ts'

const FORMAT_ONE = 0x080 // the code also contains the number of a parameter, handle or session
const FORMAT_ONE_MASK = 0x0bf // without that number

/** Codes that the boot manager distinguishes, or that are likely to occur. */
const NAMES = {
  129: 'asymmetric',
  130: 'attributes',
  132: 'value',
  133: 'hierarchy',
  139: 'handle',
  142: 'authFail',
  149: 'size',
  157: 'policyFail',
  159: 'integrity',
  162: 'badAuth',
  256: 'initialize',
  257: 'failure',
  288: 'disabled',
  296: 'pcrChanged',
  323: 'commandCode',
  331: 'nvSpace',
  332: 'nvDefined',
  2306: 'objectMemory',
  2307: 'sessionMemory',
  2309: 'sessionHandles',
  2312: 'yielded',
  2314: 'testing',
  2336: 'nvRate',
  2337: 'lockout',
  2338: 'retry',
} as const satisfies Record<number, string>

type ResponseName = (typeof NAMES)[keyof typeof NAMES]

export class TpmError extends Error {
  readonly code: number
  readonly response: ResponseName | undefined

  constructor(command: CommandCode, code: number) {
    const response = nameOf(code)
    super(`the TPM refuses ${command}: ${response ?? 'response code'} (0x${code.toString(16)})`)
    this.name = 'TpmError'
    this.code = code
    this.response = response
  }
}

export function nameOf(code: number): ResponseName | undefined {
  const names: Record<number, ResponseName> = NAMES
  return names[code & FORMAT_ONE ? code & FORMAT_ONE_MASK : code]
}
