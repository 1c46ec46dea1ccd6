/** A forwarder over a real audit log, with the clock and the log server in the test's hands. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLog, type Log } from '../../../firmware/base/log.ts'
import { verifyExport } from '../../../firmware/client/audit-verify.ts'
import { DEFAULT_SYSLOG, type SyslogChange, type SyslogSettings } from '../../../firmware/configuration/syslog.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { createForwarder, type Forwarder } from '../../../firmware/forwarding/forwarder.ts'
import { createLogQueue, type LogQueue } from '../../../firmware/forwarding/log-queue.ts'
import type { SyslogJob } from '../../../firmware/outgoing/link.ts'
import { collectLines } from '../../../tools/coffer/collected-lines.ts'
import { type AuditRig, createAuditRig } from '../../audit/rig.ts'

export const DEVICE_ID = 'DEVICE1234'
const TURNS_MAX = 100_000
const GATHER_MS = 2000

export interface Message {
  priority: number
  hostname: string
  id: string
  sequenceId: number
  text: string
}

export interface ForwarderRig {
  audit: AuditRig
  log: Log
  logged: string[]
  queue: LogQueue
  forwarder: Forwarder
  /** Jobs of all servers, in the order in which they were begun. */
  jobs: { server: string; messages: Message[] }[]
  /** Answers each job; replaced by tests. */
  serve: (job: Omit<SyslogJob, 'do'>, signal: AbortSignal) => Promise<void>
  /** Whether servers end TLS, too. */
  isAuthenticated: boolean
  set(change: SyslogChange): void
  /** Lets the time of one round, or more, pass, and waits for `isReached`. */
  pass(isReached: () => boolean, ms?: number): Promise<void>
  reopen(): Promise<void>
}

export async function openForwarder(t: TestContext): Promise<ForwarderRig> {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const audit = createAuditRig(t)
  const logged: string[] = []
  const log = createLog('info', (entry) => {
    logged.push(`${entry.level} ${entry.message.replace(/^\[\d+\] /, '')}`)
    rig.queue.add(entry)
  })
  const portIdentity = await makeTlsIdentity(systemRandom)
  let settings: SyslogSettings = DEFAULT_SYSLOG
  let changed = () => {}
  const begin = () => {
    rig.queue = createLogQueue(() => 0)
    rig.forwarder = createForwarder({
      settings: () => settings,
      onChange: (listener) => {
        changed = listener
      },
      identity: () => undefined,
      portIdentity: () => portIdentity,
      deviceId: DEVICE_ID,
      audit: () => audit.log.forwarding,
      queue: rig.queue,
      log,
      now: () => 0,
      send: async (job, signal) => {
        rig.jobs.push({ server: job.host, messages: readMessages(job.frames) })
        await rig.serve(job, signal)
        return { isAuthenticated: rig.isAuthenticated }
      },
    })
  }
  const rig = {
    ...{ audit, log, logged, jobs: [], serve: async () => {}, isAuthenticated: true },
    set(change) {
      settings = { ...settings, ...change }
      changed()
    },
    async pass(isReached, ms = GATHER_MS) {
      for (let turns = 0; !isReached(); turns++) {
        assert.ok(turns < TURNS_MAX, 'nothing came')
        if (turns % 20 === 0) t.mock.timers.tick(ms)
        await nextTurn()
      }
    },
    async reopen() {
      await rig.forwarder.close()
      audit.reopen()
      begin()
    },
  } as Partial<ForwarderRig> as ForwarderRig
  begin()
  t.after(() => rig.forwarder.close())
  return rig
}

/** Octet counting: RFC 6587 section 3.4.1. */
export function readMessages(frames: Uint8Array): Message[] {
  const bytes = Buffer.from(frames)
  const messages: Message[] = []
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(' ', at)
    const end = space + 1 + Number(bytes.toString('latin1', at, space))
    const text = bytes.toString('utf8', space + 1, end)
    const match = /^<(\d+)>1 \S+ (\S+) coffer - (\S+) \[meta sequenceId="(\d+)"\] (.*)$/s.exec(text)
    assert.ok(match !== null && end <= bytes.length, text)
    const [, priority, hostname = '', id = '', sequenceId, rest = ''] = match
    messages.push({ priority: Number(priority), hostname, id, sequenceId: Number(sequenceId), text: rest })
    at = end
  }
  return messages
}

export const textsOf = (messages: readonly Message[], id: string): string[] =>
  messages.filter((message) => message.id === id).map(({ text }) => text)

export const sequenceOf = (text: string): number => Number(/^\{"sequence":(\d+),/.exec(text)![1])

/** As `coffer audit verify --collected` on a file of these messages. */
export async function problemsIn(t: TestContext, messages: readonly Message[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-collected-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'received')
  writeFileSync(file, messages.map(({ id, text }) => `2030-01-02T03:04:05Z host ${id}: ${text}\n`).join(''))
  return (await verifyExport(await collectLines(file), { isCollected: true })).problems
}
