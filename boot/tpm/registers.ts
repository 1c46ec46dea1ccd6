/** Platform configuration registers of the SHA-256 bank: reading, extending, and policies on them. TPM 2.0 Library Part 3, 22 and 23.7. */

import { createHash } from 'node:crypto'
import { defined } from '../../firmware/base/defined.ts'
import { SHA256, SHA256_BYTES } from './algorithms.ts'
import { join, MalformedError, sized, u8, u16, u32 } from './bytes.ts'
import { entity, PASSWORD, type Tpm } from './command.ts'
import type { TpmSession } from './session.ts'

export type Registers = ReadonlyMap<number, Uint8Array>

const POLICY_PCR = 0x17f // TPM_CC_PolicyPCR
const BITMAP_BYTES = 3 // 24 registers, as in every TPM for PCs

/** Reads at most eight registers, which fit into one response. Throws a MalformedError if the TPM has no SHA-256 bank. */
export function readRegisters(tpm: Tpm, numbers: readonly number[]): Registers {
  const sorted = inOrder(numbers)
  const response = tpm.run('PCR_Read', { parameters: selection(sorted) })
  response.u32() // update counter of all registers
  const wanted = selection(sorted)
  if (!Buffer.from(response.bytes(wanted.length)).equals(wanted) || response.u32() !== sorted.length)
    throw new MalformedError('no SHA-256 registers')
  const read = new Map(sorted.map((number) => [number, response.sized()]))
  response.end()
  return read
}

/** Extends a register. Until the machine restarts, no policy on its previous value can be satisfied. */
export function extendRegister(tpm: Tpm, number: number, digest: Uint8Array): void {
  tpm.run('PCR_Extend', {
    handles: [entity(number)],
    parameters: join(u32(1), u16(SHA256), digest),
    authorization: PASSWORD,
  })
}

/** Policy that requires these register values. Part 1, 19.7; Part 3, 23.7. */
export function policyOf(registers: Registers): Uint8Array {
  return createHash('sha256')
    .update(new Uint8Array(SHA256_BYTES)) // the empty policy
    .update(u32(POLICY_PCR))
    .update(selection([...registers.keys()]))
    .update(digestOf(registers))
    .digest()
}

/** Makes the TPM check the register values. Throws a TpmError `value` if they differ. */
export function checkRegisters(tpm: Tpm, session: TpmSession, registers: Registers): void {
  tpm.run('PolicyPCR', {
    handles: [session],
    parameters: join(sized(digestOf(registers)), selection([...registers.keys()])),
  })
}

function digestOf(registers: Registers): Uint8Array {
  const hash = createHash('sha256')
  for (const number of inOrder([...registers.keys()])) hash.update(defined(registers.get(number)))
  return hash.digest()
}

/** TPML_PCR_SELECTION: Part 2, 10.9.7. */
function selection(numbers: readonly number[]): Uint8Array {
  const bitmap = new Uint8Array(BITMAP_BYTES)
  for (const number of numbers) bitmap[number >> 3] = (bitmap[number >> 3] ?? 0) | (1 << (number & 7))
  return join(u32(1), u16(SHA256), u8(BITMAP_BYTES), bitmap)
}

const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((one, other) => one - other)
