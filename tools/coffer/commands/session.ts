/** Sessions: `login` keeps a passphrase for a time that is chosen, `logout` forgets it, and the agent that holds it meanwhile. */

import { chmodSync, lstatSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import {
  answers,
  DONE,
  endSession,
  FOUND,
  GET,
  MESSAGE_BYTES_MAX,
  MINUTES_MAX,
  PUT,
  putSession,
  REMOVE,
  REMOVE_ALL,
  sessionId,
  socketPath,
} from '../session.ts'
import { createReader, string } from '../ssh-wire.ts'

const MINUTES = 15
const SESSIONS_MAX = 64
const CONNECTIONS_MAX = 32
const MESSAGE_MS_MAX = 5000
const LOOK_MS = 1000 // how late the end of a session may be noticed
const UNUSED_MS = 10_000 // an agent without a session ends after this time

export const LOGIN = {
  minutes: { value: 'NUMBER', summary: `minutes to keep it; default: ${MINUTES}, at most ${MINUTES_MAX}` },
} as const

export const SESSION: Command[] = [
  {
    words: 'login',
    summary: 'Keep the passphrase of an account in memory for some minutes, so that commands do not ask for it.',
    roles: ['Administrator'],
    options: LOGIN,
    example: 'coffer login --minutes 30',
    run: login,
  },
  {
    words: 'logout',
    summary: 'Forget the passphrase kept by login.',
    roles: ['Administrator'],
    options: { all: { summary: 'all accounts of all appliances' } },
    example: 'coffer logout --all',
    run: logout,
  },
  {
    words: 'session-agent',
    summary: 'Hold the passphrases of login in memory; started by login, ends after the last session.',
    example: 'coffer session-agent',
    run: runAgent,
  },
]

export async function login(context: CommandContext, input: OptionValues): Promise<void> {
  const minutes = input.number('minutes') ?? MINUTES
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > MINUTES_MAX)
    throw usage(`--minutes must be 1 to ${MINUTES_MAX}`)
  const { user, passphrase } = await context.login()
  await putSession(sessionId(context.url(), user), passphrase, minutes * 60)
  context.output.note(`${user}: logged in for ${minutes} minute${minutes === 1 ? '' : 's'}`)
}

export async function logout(context: CommandContext, input: OptionValues): Promise<void> {
  await endSession(input.flag('all') ? null : sessionId(context.url(), context.user()))
}

interface Session {
  secret: Buffer
  endsAtMs: number
}

async function runAgent({ signal }: CommandContext): Promise<void> {
  const path = socketPath()
  if (await answers(path)) return
  rmSync(path, { force: true }) // of an agent that was killed
  const sessions = createSessions()
  const { createServer } = await import('node:net')
  const server = createServer({ allowHalfOpen: true }, (socket) => serve(socket, sessions.answer))
  server.maxConnections = CONNECTIONS_MAX
  process.umask(0o177)
  await new Promise<void>((done, fail) => server.once('error', fail).listen(path, done))
  chmodSync(path, 0o600)
  const own = lstatSync(path).ino
  let unusedMs = 0
  await new Promise<void>((end) => {
    signal.addEventListener('abort', () => end())
    setInterval(() => {
      unusedMs = sessions.removeExpired() ? 0 : unusedMs + LOOK_MS
      // Another agent may have taken the place of this one, which logout could then not reach.
      if (unusedMs >= UNUSED_MS || lstatSync(path, { throwIfNoEntry: false })?.ino !== own) end()
    }, LOOK_MS)
  })
  sessions.clear()
  server.close()
  if (lstatSync(path, { throwIfNoEntry: false })?.ino === own) rmSync(path, { force: true })
}

function createSessions() {
  const sessions = new Map<string, Session>()
  const remove = (id: string) => {
    sessions.get(id)?.secret.fill(0)
    sessions.delete(id)
  }
  const clear = () => [...sessions.keys()].forEach(remove)
  /** True if any session is left. By the clock of the day: a computer that slept has not stopped the time. */
  const removeExpired = () => {
    for (const [id, { endsAtMs }] of sessions) if (Date.now() >= endsAtMs) remove(id)
    return sessions.size > 0
  }
  return {
    clear,
    removeExpired,
    /** Null for what is no request. */
    answer(message: Buffer): Buffer | null {
      removeExpired()
      const reader = createReader(message.subarray(1))
      if (message[0] === REMOVE_ALL) {
        clear()
        return Buffer.of(DONE)
      }
      const id = reader.string().toString()
      if (message[0] === GET) {
        const session = sessions.get(id)
        return session === undefined ? Buffer.of(DONE) : Buffer.concat([Buffer.of(FOUND), string(session.secret)])
      }
      if (message[0] === REMOVE) remove(id)
      else if (message[0] === PUT) {
        const seconds = reader.number()
        if (seconds > MINUTES_MAX * 60 || (sessions.size >= SESSIONS_MAX && !sessions.has(id))) return null
        remove(id)
        sessions.set(id, { secret: Buffer.from(reader.string()), endsAtMs: Date.now() + seconds * 1000 })
      } else return null
      return Buffer.of(DONE)
    },
  }
}

/** One request a connection; the client ends its side after it. */
function serve(socket: Socket, answer: (message: Buffer) => Buffer | null): void {
  const pieces: Buffer[] = []
  let size = 0
  const wipe = () => {
    for (const piece of pieces) piece.fill(0)
  }
  socket.setTimeout(MESSAGE_MS_MAX, () => socket.destroy())
  socket.on('error', () => socket.destroy())
  socket.on('close', wipe)
  socket.on('data', (bytes: Buffer) => {
    pieces.push(bytes)
    size += bytes.length
    if (size > MESSAGE_BYTES_MAX) socket.destroy()
  })
  socket.on('end', () => {
    if (size === 0 || size > MESSAGE_BYTES_MAX) return void socket.destroy()
    const message = Buffer.concat(pieces)
    try {
      const reply = answer(message)
      if (reply === null) return void socket.destroy()
      socket.end(reply, () => reply.fill(0))
    } catch {
      socket.destroy() // a message that is cut
    } finally {
      message.fill(0)
    }
  })
}
