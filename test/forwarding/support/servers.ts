/** Real log servers on a port of the loopback interface: rsyslog and syslog-ng, each with a file of its own. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../../tools/free-ports.ts'
import type { ClusterCa } from '../../support/cluster-ca.ts'
import { THIS_COMPUTER } from '../../support/machine.ts'
import type { Ending } from '../../support/process.ts'
import { needsRsyslogTls, needsSyslogNg, SYSLOG_NG } from '../../support/tools.ts'

export type Kind = 'rsyslog' | 'syslog-ng'

export const needsServer = (kind: Kind): { skip: string | false } =>
  kind === 'rsyslog' ? needsRsyslogTls() : needsSyslogNg()

export interface RealServer {
  readonly port: number
  /** Messages as they arrived, one a line, without their headers. */
  readonly file: string
  text(): string
  start(): Promise<void>
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

const HOST = '127.0.0.1'
const DEADLINE_MS = 60_000 // the machine may be busy
const MESSAGE_BYTES_MAX = 128 * 1024

interface Places {
  directory: string
  port: number
  file: string
}

/** Messages have their id before them, so that those of the audit log are found. */
function rsyslogConfiguration({ directory, port, file }: Places, asks: boolean): string {
  const name = (suffix: string) => join(directory, suffix)
  return `global(workDirectory="${directory}" maxMessageSize="${MESSAGE_BYTES_MAX}" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="${name('ca.pem')}"
  defaultNetstreamDriverCertFile="${name('server.pem')}" defaultNetstreamDriverKeyFile="${name('server.key')}")
main_queue(queue.type="direct")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="${asks ? 'x509/certvalid' : 'anon'}")
input(type="imtcp" port="${port}" address="${HOST}")
template(name="coffer" type="string" string="%msgid% %msg%\\n")
action(type="omfile" file="${file}" template="coffer")
`
}

function syslogNgConfiguration({ directory, port, file }: Places, asks: boolean): string {
  const name = (suffix: string) => join(directory, suffix)
  const peer = asks ? `peer-verify(required-trusted) ca-file("${name('ca.pem')}")` : 'peer-verify(optional-untrusted)'
  return `@version: 3.38
options { log-msg-size(${MESSAGE_BYTES_MAX}); stats-freq(0); };
source coffer { syslog(transport("tls") ip("${HOST}") port(${port}) tls(
  key-file("${name('server.key')}") cert-file("${name('server.pem')}") ${peer})); };
destination file { file("${file}" template("$MSGID $MSG\\n")); };
log { source(coffer); destination(file); flags(flow-control); };
`
}

/** With `asks`, clients need a certificate of this authority. It is not started yet. */
export async function createServer(t: Ending, kind: Kind, ca: ClusterCa, asks = false): Promise<RealServer> {
  const directory = mkdtempSync(join(tmpdir(), `coffer-${kind}-`))
  const places = { directory, port: await freePort(), file: join(directory, 'received') }
  const { certificate, key } = ca.issue(HOST, THIS_COMPUTER)
  writeFileSync(join(directory, 'ca.pem'), ca.certificate)
  writeFileSync(join(directory, 'server.pem'), certificate)
  writeFileSync(join(directory, 'server.key'), key)
  const configuration = join(directory, 'configuration')
  writeFileSync(
    configuration,
    kind === 'rsyslog' ? rsyslogConfiguration(places, asks) : syslogNgConfiguration(places, asks),
  )
  const name = (suffix: string) => join(directory, suffix)
  const command =
    kind === 'rsyslog'
      ? ['/usr/sbin/rsyslogd', '-n', '-f', configuration, '-i', name('pid')]
      : [
          ...[SYSLOG_NG, '-F', '--no-caps', '-f', configuration, `--persist-file=${name('persist')}`],
          ...[`--pidfile=${name('pid')}`, `--control=${name('control')}`],
        ]
  let child: ChildProcess | null = null
  let said = ''
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = child
    child = null
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return
    ending.kill(signal)
    await once(ending, 'close')
  }
  t.after(async () => {
    await end('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    port: places.port,
    file: places.file,
    text: () => (existsSync(places.file) ? readFileSync(places.file, 'utf8') : ''),
    async start() {
      rmSync(name('pid'), { force: true }) // of one that was killed
      const started = spawn(command[0]!, command.slice(1), { stdio: 'pipe' })
      for (const stream of [started.stdout, started.stderr]) stream.on('data', (bytes) => (said += bytes))
      child = started
      for (const deadline = Date.now() + DEADLINE_MS; !(await accepts(places.port)); await wait(20))
        assert.ok(Date.now() < deadline && started.exitCode === null, said)
    },
    end,
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, HOST)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
