/** What Linux says of running processes: proc(5). */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'

export const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

/** A process, its children and theirs. */
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

/** Which of these processes has made a connection over IPv4 that was accepted here. */
export function makerOf({ remoteAddress, remotePort, localAddress, localPort }: Socket, pids: readonly number[]) {
  const ends = `${placeOf(remoteAddress!, remotePort!)} ${placeOf(localAddress!, localPort!)} `
  const line = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .find((one) => one.includes(ends))
  const inode = line?.trim().split(/\s+/)[9]
  return inode === undefined ? undefined : pids.find((pid) => linksOf(pid).includes(`socket:[${inode}]`))
}

/** In proc_net(5): the address as a number of this processor, which is little-endian. */
const placeOf = (address: string, port: number): string =>
  [Buffer.from(address.split('.').map(Number).toReversed()), Buffer.from([port >> 8, port & 0xff])]
    .map((bytes) => bytes.toString('hex').toUpperCase())
    .join(':')

/** What its descriptors are; none when it has ended. */
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
