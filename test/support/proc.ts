/** Running processes as Linux shows them: proc(5). */

import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

export const familyOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(familyOf)]

/** Arguments with a NUL after each; empty when the process has ended. */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024

/**
 * SIGSTOP; resolves when none of its threads runs any more: the one that takes the signal may have to wait for a processor, while
 * the others go on.
 */
export async function pauseProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  while (statesOf(pid).some((state) => !STILL.includes(state))) await wait(1)
}

const STILL = 'TZX' // stopped, or ended

function statesOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')
      return stat.charAt(stat.lastIndexOf(')') + 2)
    })
  } catch {
    return existsSync(`/proc/${pid}/task`) ? ['?'] : [] // a thread has just ended
  }
}

/** Which of these processes has made a connection over IPv4 that was accepted here. */
export function makerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket, pids: readonly number[]) {
  const ends = `${addressOf(remoteAddress!, remotePort!)} ${addressOf(localAddress!, localPort!)} `
  const line = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .find((one) => one.includes(ends))
  const inode = line?.trim().split(/\s+/)[9]
  return inode === undefined ? undefined : pids.find((pid) => linksOf(pid).includes(`socket:[${inode}]`))
}

/** In proc_net(5): the address as a number of this processor, which is little-endian. */
const addressOf = (address: string, port: number): string =>
  [Buffer.from(address.split('.').map(Number).toReversed()), Buffer.from([port >> 8, port & 0xff])]
    .map((bytes) => bytes.toString('hex').toUpperCase())
    .join(':')

function linksOf(pid: number): string[] {
  const directory = `/proc/${pid}/fd`
  try {
    return readdirSync(directory).flatMap((name) => {
      try {
        return readlinkSync(`${directory}/${name}`)
      } catch {
        return [] // closed meanwhile
      }
    })
  } catch {
    return []
  }
}
