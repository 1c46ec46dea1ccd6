/** A real rsyslogd on a port of the loopback interface, with a configuration and a directory of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export interface Line {
  facility: string
  severity: string
  host: string
  tag: string
  text: string
}

interface Rsyslog {
  readonly port: number
  lines(): Line[]
  text(): string
  see(pattern: RegExp): Promise<Line>
  stop(): Promise<void>
}

const PROGRAM = '/usr/sbin/rsyslogd'
const DEADLINE_MS = 20_000

export async function startRsyslog(t: TestContext): Promise<Rsyslog> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-rsyslog-'))
  const port = await freePort()
  const output = join(directory, 'received')
  const configuration = join(directory, 'rsyslog.conf')
  writeFileSync(
    configuration,
    [
      `global(workDirectory="${directory}")`,
      'module(load="imudp")',
      `input(type="imudp" address="127.0.0.1" port="${port}" rcvbufSize="1m")`,
      'template(name="fields" type="string" string="%syslogfacility-text%|%syslogseverity-text%|%hostname%|%syslogtag%|%msg%\\n")',
      `action(type="omfile" file="${output}" template="fields")`,
      '',
    ].join('\n'),
  )
  const child = spawn(PROGRAM, ['-n', '-f', configuration, '-i', join(directory, 'pid')], { stdio: 'pipe' })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()))
  const stop = () => end(child)
  t.after(async () => {
    await stop()
    rmSync(directory, { recursive: true, force: true })
  })

  let seen = 0
  const text = () => (existsSync(output) ? readFileSync(output, 'utf8') : '')
  const rsyslog: Rsyslog = {
    port,
    text,
    lines: () => text().split('\n').slice(0, -1).map(readLine),
    see: (pattern) =>
      until(`${pattern}; rsyslog has ${said}\n${text()}`, () => {
        const lines = rsyslog.lines()
        const at = lines.findIndex((line, i) => i >= seen && pattern.test(line.text))
        if (at === -1) return null
        seen = at + 1
        return lines[at]!
      }),
    stop,
  }
  await ready(child, port, text)
  seen = rsyslog.lines().length
  return rsyslog
}

function readLine(line: string): Line {
  const [facility = '', severity = '', host = '', tag = '', ...text] = line.split('|')
  return { facility, severity, host, tag, text: text.join('|') }
}

/** Sends until something arrives: it listens before it says so. */
async function ready(child: ChildProcess, port: number, text: () => string): Promise<void> {
  const probe = createSocket('udp4')
  try {
    await until('rsyslogd', () => {
      if (child.exitCode !== null) throw new Error(`rsyslogd ended with ${child.exitCode}`)
      probe.send('<14>Jan  1 00:00:00 probe probe: probe', port, '127.0.0.1')
      return text() === '' ? null : true
    })
  } finally {
    probe.close()
  }
  await new Promise((resolve) => setTimeout(resolve, 200)) // for the probes still under way
}

async function until<T>(what: string, probe: () => T | null): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const value = probe()
    if (value !== null) return value
    if (Date.now() > deadline) throw new Error(`no ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'close')
  child.kill('SIGTERM')
  await ended
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  await new Promise<void>((resolve) => socket.close(resolve))
  return port
}
