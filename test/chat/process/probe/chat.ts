/**
 * The chat, and in the same process a probe that does what somebody would who has taken it over. It waits for a file beside
 * the generations that says what to try, and prints a line for each finding. What Node's permission model forbids is tried
 * through node:fs; what the kernel forbids, through the SQLite addon, which the permission model does not see.
 */

import { spawnSync } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { open, Session } from 'node:inspector'
import threads from 'node:worker_threads'
import Sqlite from 'better-sqlite3-multiple-ciphers'
import { LINK_DESCRIPTOR } from '../../../../firmware/channel/channel.ts'
import { encodeFrame } from '../../../../firmware/channel/frames.ts'
import '../../../../firmware/chat/process/main.ts'

export type Order =
  | { do: 'throw' | 'exhaust' }
  | { do: 'tell'; messages: object[]; times: number }
  | { do: 'escape'; paths: string[]; pids: number[]; addon: string }

const POLL_MS = 20
const directory = process.cwd()

const waiting = setInterval(() => {
  const order = readOrder()
  if (order === null) return
  clearInterval(waiting)
  if (order.do === 'escape') tryToEscape(order)
  else if (order.do === 'tell') tell(order)
  else if (order.do === 'exhaust') exhaust()
  else throw new Error('a bug')
}, POLL_MS)

function readOrder(): Order | null {
  try {
    const order = JSON.parse(readFileSync(`${directory}/order`, 'utf8')) as Order
    rmSync(`${directory}/order`) // it is not for the process that follows
    return order
  } catch {
    return null // not there, or not whole yet
  }
}

function exhaust(): void {
  const kept: unknown[] = []
  for (;;) kept.push(new Array(1000).fill(kept.length))
}

/** Beside what the chat itself says, which is a frame at a time, too. */
function tell({ messages, times }: Extract<Order, { do: 'tell' }>): void {
  for (let time = 0; time < times; time++)
    for (const message of messages) {
      const frame = encodeFrame(message)
      for (let at = 0; at < frame.length; )
        try {
          at += writeSync(LINK_DESCRIPTOR, frame, at)
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
        }
    }
  console.log('probe: finished')
}

function tryToEscape({ paths, pids, addon }: Extract<Order, { do: 'escape' }>): void {
  for (const path of paths) {
    attempt(`read ${path}`, () => readFileSync(path))
    attempt(`list ${path}`, () => readdirSync(path))
    attempt(`write ${path}`, () => writeFileSync(path, ''))
    attempt(`natively ${path}`, () => natively(path))
  }
  for (const pid of pids) {
    for (const file of ['mem', 'environ', 'maps', 'fd', 'cwd'])
      attempt(`read ${pid} ${file}`, () => readFileSync(`/proc/${pid}/${file}`))
    for (const file of ['mem', 'environ']) attempt(`natively ${pid} ${file}`, () => natively(`/proc/${pid}/${file}`))
    attempt(`signal ${pid}`, () => process.kill(pid, 0))
    attempt(`debug ${pid}`, () => (process as unknown as { _debugProcess(pid: number): void })._debugProcess(pid))
  }
  attempt('run', () => {
    const { error } = spawnSync(process.execPath, ['--version'])
    if (error !== undefined) throw error
  })
  attempt('addon', () => {
    copyFileSync(addon, `${directory}/evil.node`)
  })
  attempt('native code', () => process.dlopen({ exports: {} }, addon))
  attempt('extension', () => new Sqlite(':memory:').loadExtension(addon))
  attempt('thread', () => new threads.Worker('', { eval: true }))
  attempt('inspector', () => open(0))
  attempt('inspector session', () => new Session().connect())
  attempt('own database', () => natively(`${directory}/own.db`))
  console.log('probe: finished')
}

function attempt(name: string, action: () => unknown): void {
  try {
    action()
    console.log(`probe: ${name}: works`)
  } catch (error) {
    const { code, name: kind } = error as NodeJS.ErrnoException
    console.log(`probe: ${name}: ${code ?? kind}`)
  }
}

/** SQLite opens what is attached by itself; a database given by name would be looked at through node:fs first. */
function natively(path: string): void {
  const database = new Sqlite(':memory:')
  try {
    database.prepare('ATTACH ? AS other').run(path)
    database.exec('CREATE TABLE other.probe (x)')
  } finally {
    database.close()
  }
}
