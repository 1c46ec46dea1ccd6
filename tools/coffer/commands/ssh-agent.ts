/**
 * An SSH agent whose keys stay in the appliance: for logins, and for `git commit -S` with `gpg.format ssh`. Every signature is a
 * line of the appliance's audit log.
 */

import { chmodSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { defined } from '../../../firmware/base/defined.ts'
import { fromBase64, toBase64 } from '../../../firmware/client/bytes.ts'
import type { Client } from '../../../firmware/client/client.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, explain, Failure } from '../failure.ts'
import { partsOf, sshText } from '../public.ts'
import {
  algorithmOf,
  createReader,
  FAILURE,
  IDENTITIES,
  REQUEST_IDENTITIES,
  SIGN_REQUEST,
  SIGNATURE,
  signatureBlob,
  string,
  uint32,
} from '../ssh-wire.ts'
import { detailedKeys } from './keys.ts'

const MESSAGE_BYTES_MAX = 256 * 1024 // as OpenSSH's own agent

export const SSH_AGENT: Command[] = [
  {
    words: 'ssh-agent',
    arguments: '[COMMAND]...',
    summary: 'Run an SSH agent with the keys of the appliance, for COMMAND (after --) or until it is stopped.',
    roles: ['Operator'],
    options: {
      socket: { value: 'FILE', summary: 'path of its socket; default: in a new directory' },
      key: { value: 'KEY', many: true, summary: 'only this key, repeatable' },
    },
    example: 'coffer ssh-agent -- ssh-add -L',
    run,
  },
]

/** A key of the appliance that SSH has a name for. */
interface Identity {
  id: string
  /** `ssh-ed25519`. */
  type: string
  blob: Buffer
}

async function run(context: CommandContext, input: OptionValues): Promise<void> {
  const { createServer } = await import('node:net')
  const { output, signal } = context
  await expectOperational(context)
  const api = context.client()
  await api.account() // asks for the passphrase now, not when a login waits, and says at once when it is wrong
  const agent = createAgent(context, api, input.list('key'))
  const { file, dispose } = socketFile(input.text('socket'))
  const server = createServer((socket) => serve(socket, agent.answer))
  try {
    await new Promise<void>((done, fail) => server.once('error', fail).listen(file, done))
    chmodSync(file, 0o600)
    if (input.arguments.length > 0) {
      process.exitCode = await runChild(input.arguments, file, signal)
      return
    }
    output.raw(Buffer.from(`SSH_AUTH_SOCK=${file}; export SSH_AUTH_SOCK;\n`))
    await new Promise<void>((done) => signal.addEventListener('abort', () => done()))
  } finally {
    server.close()
    dispose()
  }
}

function createAgent(context: CommandContext, api: Client, only: readonly string[]) {
  const { output } = context
  async function identities(): Promise<Identity[]> {
    const keys = await detailedKeys(api, { filter: true })
    return keys.flatMap((key): Identity[] => {
      const maySign = key.mechanisms.some(
        (name) => /^(EdDSA|ED25519|ECDSA|RSA)_Signature/.test(name) && !name.includes('PSS'),
      )
      const line = maySign && (only.length === 0 || only.includes(key.id)) ? sshText(partsOf(key), key.id) : null
      if (line === null) return []
      const [type, blob] = line.split(' ')
      return [{ id: key.id, type: defined(type), blob: Buffer.from(defined(blob), 'base64') }]
    })
  }

  async function list(): Promise<Buffer> {
    const found = await identities()
    const entries = found.map(({ id, blob }) => Buffer.concat([string(blob), string(Buffer.from(id))]))
    return Buffer.concat([Buffer.of(IDENTITIES), uint32(found.length), ...entries])
  }

  async function sign(message: Buffer): Promise<Buffer> {
    const reader = createReader(message)
    const blob = reader.string()
    const data = reader.string()
    const flags = reader.number()
    const identity = (await identities()).find((known) => known.blob.equals(blob))
    if (identity === undefined) throw new Failure(EXIT.refused, 'a signature with a key that is not here was requested')
    const algorithm = algorithmOf(identity.type, flags)
    if (algorithm === null) throw new Failure(EXIT.refused, `${identity.id}: RSA with SHA-1 is not offered`)
    const { mode, hash } = algorithm
    const { createHash } = await import('node:crypto')
    const digest = hash === null ? data : createHash(hash).update(data).digest()
    const signature = await api.sign(identity.id, { mode, message: toBase64(digest) })
    output.note(`${identity.id}: signed (${mode})`)
    return Buffer.concat([Buffer.of(SIGNATURE), string(signatureBlob(algorithm, fromBase64(signature)))])
  }

  return {
    /** One message, without its length. Whatever goes wrong is said on stderr, and a failure for the client. */
    async answer(message: Buffer): Promise<Buffer> {
      try {
        const [type] = message
        if (type !== REQUEST_IDENTITIES && type !== SIGN_REQUEST) return Buffer.of(FAILURE)
        await expectOperational(context)
        return type === REQUEST_IDENTITIES ? await list() : await sign(message.subarray(1))
      } catch (error) {
        output.note(`coffer: ssh-agent: ${explain(error).message}`)
        return Buffer.of(FAILURE)
      }
    },
  }
}

/** Needs no passphrase, and none is sent to an appliance that cannot use it. */
async function expectOperational({ open }: CommandContext): Promise<void> {
  const state = await open().state()
  if (state !== 'Operational') throw new Failure(EXIT.state, `the appliance is ${state}: no key can be used`)
}

function serve(socket: Socket, answer: (message: Buffer) => Promise<Buffer>): void {
  let pending = Buffer.alloc(0)
  let busy = Promise.resolve()
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes])
    while (pending.length >= 4) {
      const size = pending.readUInt32BE(0)
      if (size === 0 || size > MESSAGE_BYTES_MAX) return void socket.destroy()
      if (pending.length < 4 + size) return
      const message = Buffer.from(pending.subarray(4, 4 + size))
      pending = pending.subarray(4 + size)
      busy = busy.then(async () => void socket.write(string(await answer(message))))
    }
  })
}

/** Nobody else may reach it: it lies in a directory of the user's own. */
function socketFile(input: string | undefined): { file: string; dispose(): void } {
  if (input === undefined) {
    const directory = mkdtempSync(join(process.env.XDG_RUNTIME_DIR || tmpdir(), 'coffer-agent-'))
    return { file: join(directory, 'socket'), dispose: () => rmSync(directory, { recursive: true, force: true }) }
  }
  mkdirSync(dirname(input), { recursive: true, mode: 0o700 })
  const isThere = lstatSync(input, { throwIfNoEntry: false }) !== undefined
  if (isThere) throw new Failure(EXIT.refused, `${input} is there: does an agent run, or was one killed?`)
  process.umask(0o077)
  return { file: input, dispose: () => rmSync(input, { force: true }) }
}

/** It gets the socket, and no passphrase: COFFER_PASSPHRASE was taken out of the environment. */
async function runChild([program, ...line]: readonly string[], socket: string, signal: AbortSignal): Promise<number> {
  const { spawn } = await import('node:child_process')
  const child = spawn(defined(program), line, { stdio: 'inherit', env: { ...process.env, SSH_AUTH_SOCK: socket } })
  signal.addEventListener('abort', () => child.kill())
  return new Promise((done, fail) => {
    child.once('error', (error) => fail(new Failure(EXIT.refused, `${program}: ${error.message}`)))
    child.once('close', (code) => done(code ?? EXIT.refused))
  })
}
