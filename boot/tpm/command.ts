/** Commands and responses, with at most one authorization each. TPM 2.0 Library Part 1, 18; Part 3, 4 and 5. */

import { EMPTY, join, MalformedError, readerOf, sized, type TpmReader, u8, u16, u32 } from './bytes.ts'
import { nameOf, TpmError } from './error.ts'
import type { Transport } from './transport.ts'

/** Part 2, 6.5.2. */
const COMMANDS = {
  EvictControl: 0x120,
  NV_UndefineSpace: 0x122,
  NV_DefineSpace: 0x12a,
  CreatePrimary: 0x131,
  NV_Increment: 0x134,
  PolicyNV: 0x149,
  NV_Read: 0x14e,
  Create: 0x153,
  Load: 0x157,
  Unseal: 0x15e,
  FlushContext: 0x165,
  ReadPublic: 0x173,
  StartAuthSession: 0x176,
  GetRandom: 0x17b,
  PCR_Read: 0x17e,
  PolicyPCR: 0x17f,
  PCR_Extend: 0x182,
} as const

export type CommandCode = keyof typeof COMMANDS

/** A TPM entity. HMACs cover its name instead of its handle. */
export interface Entity {
  handle: number
  name: Uint8Array
}

/** Entity that is not an object: its name is its handle. Part 1, 16. */
export const entity = (handle: number): Entity => ({ handle, name: u32(handle) })

export const OWNER = entity(0x40000001) // TPM_RH_OWNER: the storage hierarchy, with an empty authorization value
export const NULL_HANDLE = 0x40000007 // TPM_RH_NULL

/** Authorizes a command. A session may also encrypt the first parameter of the command and of the response. */
export interface Authorization {
  /** Returns the authorization area, and the parameters to send. */
  protect(code: number, handles: readonly Entity[], parameters: Uint8Array): { area: Uint8Array; sent: Uint8Array }
  /** Checks the authorization area of a response and returns the decrypted parameters. */
  verify(code: number, parameters: Uint8Array, area: TpmReader): Uint8Array
}

const PASSWORD_SESSION = 0x40000009 // TPM_RS_PW

/** The empty authorization value in plain text, for commands without secrets. */
export const PASSWORD: Authorization = {
  protect: (_code, _handles, parameters) => ({
    area: join(u32(PASSWORD_SESSION), sized(EMPTY), u8(0), sized(EMPTY)),
    sent: parameters,
  }),
  verify: (_code, parameters, area) => {
    area.sized()
    area.u8()
    area.sized()
    return parameters
  },
}

interface TpmCommand {
  handles?: readonly Entity[]
  parameters?: Uint8Array
  authorization?: Authorization
}

export interface Tpm {
  /** Returns the parameters of the response. Throws a TpmError, or an error of the transport. */
  run(code: CommandCode, command: TpmCommand): TpmReader
  /** For commands whose response begins with a handle. */
  runForHandle(code: CommandCode, command: TpmCommand): { handle: number; response: TpmReader }
  close(): void
}

const TAG_PLAIN = 0x8001 // TPM_ST_NO_SESSIONS
const TAG_AUTHORIZED = 0x8002 // TPM_ST_SESSIONS
const HEADER_BYTES = 10
// A starting TPM tests itself, and a TPM that writes to its memory requests a retry.
const BUSY = ['yielded', 'testing', 'nvRate', 'retry']
const TRIES = 60
const PAUSE_MS = 50

export function createTpm(transport: Transport): Tpm {
  const send = (
    code: CommandCode,
    { handles = [], parameters = EMPTY, authorization }: TpmCommand,
    hasHandle: boolean,
  ) => {
    const number = COMMANDS[code]
    const { area, sent } = authorization?.protect(number, handles, parameters) ?? { area: EMPTY, sent: parameters }
    const body = join(
      ...handles.map(({ handle }) => u32(handle)),
      ...(authorization ? [u32(area.length)] : []),
      area,
      sent,
    )
    const tag = authorization ? TAG_AUTHORIZED : TAG_PLAIN
    const command = join(u16(tag), u32(HEADER_BYTES + body.length), u32(number), body)
    const response = transmit(code, command)
    const handle = hasHandle ? response.u32() : 0
    if (authorization === undefined) return { handle, response }
    const answered = response.bytes(response.u32())
    const clear = authorization.verify(number, answered, response)
    response.end()
    return { handle, response: readerOf(clear) }
  }

  const transmit = (code: CommandCode, command: Uint8Array): TpmReader => {
    for (let tries = 1; ; tries++) {
      const response = transport.transmit(command)
      const reader = readerOf(response)
      const tag = reader.u16()
      if (reader.u32() !== response.length) throw new MalformedError('a response of another length than it says')
      const result = reader.u32()
      if (result === 0 && tag === readerOf(command).u16()) return reader
      if (result === 0) throw new MalformedError('a response with the tag of another')
      if (tries === TRIES || !BUSY.includes(nameOf(result) ?? '')) throw new TpmError(code, result)
      sleep(PAUSE_MS)
    }
  }

  return {
    run: (code, command) => send(code, command, false).response,
    runForHandle: (code, command) => send(code, command, true),
    close: () => transport.close(),
  }
}

/** Removes an object or a session from the TPM's memory. */
export function flush(tpm: Tpm, handle: number): void {
  tpm.run('FlushContext', { parameters: u32(handle) })
}

const sleep = (ms: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
