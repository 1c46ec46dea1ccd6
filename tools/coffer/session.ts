/**
 * Sessions of `coffer login`: passphrases in the memory of an agent, one process for each user of the computer, which the command
 * reaches over a Unix socket. A message is a length, a number for what is asked, and strings, as in ssh-wire.ts. No passphrase
 * is in a file, in arguments or in the environment.
 */

import { existsSync, lstatSync, mkdirSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { defined } from '../../firmware/base/defined.ts'
import { EXIT, Failure } from './failure.ts'
import { createReader, string, uint32 } from './ssh-wire.ts'

export const GET = 1
export const PUT = 2
export const REMOVE = 3
export const REMOVE_ALL = 4
/** Answers: a passphrase, or nothing. */
export const FOUND = 1
export const DONE = 0

export const MINUTES_MAX = 24 * 60 // a forgotten session ends within a day
export const MESSAGE_BYTES_MAX = 8192 // an address, an account and a passphrase of 200 bytes
const ANSWER_MS_MAX = 5000
const START_MS_MAX = 30_000 // of an agent, on a busy computer
const POLL_MS = 20

/** One account of one appliance. */
export const sessionId = (url: string, user: string): string => `${url} ${user}`

/** The agent's socket. Throws if other users may write its directory. */
export function socketPath(): string {
  const base = process.env.XDG_RUNTIME_DIR
  const directory = base ? join(base, 'coffer') : join(tmpdir(), `coffer-${userInfo().uid}`)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const found = lstatSync(directory)
  if (!found.isDirectory() || found.uid !== userInfo().uid || (found.mode & 0o077) !== 0)
    throw new Failure(EXIT.refused, `${directory} must be a directory that no other user may enter`)
  return join(directory, 'agent')
}

/** Null without a session. Never throws: without an agent the passphrase is asked for. */
export async function findSession(id: string): Promise<string | null> {
  try {
    const path = socketPath()
    if (!existsSync(path)) return null
    const answer = await ask(path, Buffer.concat([Buffer.of(GET), string(Buffer.from(id))]))
    try {
      return answer[0] === FOUND ? createReader(answer.subarray(1)).string().toString() : null
    } finally {
      answer.fill(0)
    }
  } catch {
    return null
  }
}

/** Starts the agent if there is none. */
export async function putSession(id: string, passphrase: string, seconds: number): Promise<void> {
  const path = socketPath()
  const secret = Buffer.from(passphrase)
  const message = Buffer.concat([Buffer.of(PUT), string(Buffer.from(id)), uint32(seconds), string(secret)])
  try {
    await connected(path)
    await ask(path, message)
  } finally {
    secret.fill(0)
    message.fill(0)
  }
}

/** Ends one session, or all of them. */
export async function endSession(id: string | null): Promise<void> {
  const path = socketPath()
  if (!(await answers(path))) return
  await ask(path, id === null ? Buffer.of(REMOVE_ALL) : Buffer.concat([Buffer.of(REMOVE), string(Buffer.from(id))]))
}

async function connected(path: string): Promise<void> {
  if (await answers(path)) return
  const { spawn } = await import('node:child_process')
  const { setTimeout } = await import('node:timers/promises')
  // Nothing but the place of its socket: it outlives this command, and its environment can be read.
  const { XDG_RUNTIME_DIR, TMPDIR } = process.env
  const env = { ...(XDG_RUNTIME_DIR && { XDG_RUNTIME_DIR }), ...(TMPDIR && { TMPDIR }) }
  const line = [defined(process.argv[1]), 'session-agent']
  spawn(process.execPath, line, { detached: true, stdio: 'ignore', cwd: '/', env }).unref()
  for (const deadline = Date.now() + START_MS_MAX; Date.now() < deadline; await setTimeout(POLL_MS))
    if (await answers(path)) return
  throw new Failure(EXIT.refused, 'the agent that keeps sessions does not start', 'coffer session-agent shows why')
}

export async function answers(path: string): Promise<boolean> {
  const { connect } = await import('node:net')
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

async function ask(path: string, message: Buffer): Promise<Buffer> {
  const { connect } = await import('node:net')
  return new Promise((done, fail) => {
    const socket = connect(path)
    const pieces: Buffer[] = []
    socket.setTimeout(ANSWER_MS_MAX, () => socket.destroy(new Error('the agent does not answer')))
    socket.on('data', (bytes: Buffer) => pieces.push(bytes))
    socket.once('error', fail)
    socket.once('end', () => {
      const answer = Buffer.concat(pieces)
      for (const piece of pieces) piece.fill(0)
      if (answer.length > 0) done(answer)
      else fail(new Failure(EXIT.refused, 'the agent refused the session'))
    })
    socket.end(message)
  })
}
