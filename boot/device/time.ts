/**
 * Synchronizes the device's clock with a time server, if one is set: chronyd(8) uses NTP or NTS (RFC 8915), as a user whose only
 * privilege is to set the clock. Contract section 3.4.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { defined } from '../../firmware/base/defined.ts'
import type { Ntp } from '../../firmware/channel/protocol.ts'
import type { TimeReport } from '../platform.ts'
import { BUSYBOX, mustRunNow } from './system/programs.ts'

const TIME_USER = 'time'
const TIME_ID = 1001

const DIRECTORY = '/run/time'
const OWN_DIRECTORY = `${DIRECTORY}/own` // writable by chronyd
const RESTART_MS = 60_000

/** Null without an address: the device has no name service. */
export function configurationOf({ ntpIP, ntsName }: Ntp): string | null {
  if (ntpIP === undefined) return null
  return [
    ntsName === undefined ? `server ${ntpIP} iburst` : `server ${ntsName} iburst nts`,
    'makestep 1 3', // at a start the clock may be years off; later it is only slewed
    'rtcsync', // sets the hardware clock for the next start
    'nocerttimecheck 1', // at that start the clock cannot check certificates
    'ntstrustedcerts /usr/share/ca-certificates/mozilla',
    'port 0', // does not act as a server
    'cmdport 0',
    'bindcmdaddress /',
    `pidfile ${OWN_DIRECTORY}/pid`,
    '',
  ].join('\n')
}

/** The name of an NTS server must match its certificate; the configuration has its address. */
export const hostsOf = ({ ntpIP, ntsName }: Ntp): string =>
  `127.0.0.1 localhost\n::1 localhost\n${ntsName === undefined ? '' : `${ntpIP} ${ntsName}\n`}`

interface TimeOptions extends TimeReport {
  say: (text: string) => void
  start?: (configuration: string, hosts: string) => ChildProcess
}

interface TimeKeeper {
  apply(ntp: Ntp): void
}

export function createTimeKeeper({ say, onTime, onServer, start = startChronyd }: TimeOptions): TimeKeeper {
  let applied = '{}'
  let running: ChildProcess | null = null
  /** True until the newest process has ended: chronyd refuses to start while the process of its pid file is there. */
  let isAlive = false
  let next: (() => void) | null = null
  let again: NodeJS.Timeout | undefined
  let isHeard = false

  function note(heard: boolean): void {
    isHeard = heard
    onServer(heard)
  }

  function run(configuration: string, hosts: string): void {
    const child = start(configuration, hosts)
    running = child
    isAlive = true
    createInterface({ input: defined(child.stderr) }).on('line', (line) => {
      if (running !== child) return
      if (/Can't synchroni[sz]e/.test(line)) note(false)
      if (!line.includes('Selected source')) return
      note(true)
      onTime()
    })
    child.on('error', () => {}) // `close` follows
    child.on('close', () => {
      isAlive = false
      if (running !== child) return next?.()
      note(false)
      say('The time client has ended: the next attempt is in a minute.')
      again = setTimeout(run, RESTART_MS, configuration, hosts).unref()
    })
  }

  return {
    apply: (ntp) => {
      const text = JSON.stringify(ntp)
      if (text === applied) return onServer(isHeard) // to another run of the firmware
      applied = text
      clearTimeout(again)
      const configuration = configurationOf(ntp)
      next = configuration === null ? null : () => run(configuration, hostsOf(ntp))
      const former = running
      running = null
      if (isAlive) former?.kill()
      else next?.()
      if (configuration === null && ntp.ntsName !== undefined)
        say(`The time server ${ntp.ntsName} is not used: its address is not set.`)
      note(false)
    },
  }
}

const ONLY_THE_CLOCK = [
  ...[`--reuid=${TIME_ID}`, `--regid=${TIME_ID}`, '--clear-groups', '--no-new-privs'],
  ...['--inh-caps=-all,+sys_time', '--ambient-caps=-all,+sys_time', '--bounding-set=-all,+sys_time'],
]

let hasHosts = false

function startChronyd(configuration: string, hosts: string): ChildProcess {
  mkdirSync(OWN_DIRECTORY, { recursive: true })
  chownSync(OWN_DIRECTORY, TIME_ID, TIME_ID)
  writeFileSync(`${DIRECTORY}/chrony.conf`, configuration)
  writeFileSync(`${DIRECTORY}/hosts`, hosts)
  if (!hasHosts) mustRunNow(BUSYBOX, ['mount', '-o', 'bind', `${DIRECTORY}/hosts`, '/etc/hosts'])
  hasHosts = true
  const chronyd = ['/usr/sbin/chronyd', '-U', '-u', TIME_USER, '-d', '-f', `${DIRECTORY}/chrony.conf`]
  return spawn('/usr/bin/setpriv', [...ONLY_THE_CLOCK, ...chronyd], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: '/usr/sbin:/usr/bin', LC_ALL: 'C' },
  })
}
