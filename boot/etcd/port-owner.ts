/** Finds the user who listens on a TCP port, from /proc/net/tcp and /proc/net/tcp6 (proc(5)), which all users can read. */

import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'

const LISTENING = '0A'
const ANY = /^0+$/
const MAPPED = '0000000000000000FFFF0000' // ::ffff:0:0/96 in the form of /proc/net/tcp6

/** Debian's package etcd-server starts a service of this user, on the same port. */
const DEBIAN_USER = 'etcd'
const DEBIAN_HINT = ' (service of the package etcd-server? sudo systemctl disable --now etcd)'

/** "port 2380 of 127.0.0.1 in use by user etcd", or null if no process listens there. */
export function portConflict(address: string, port: number): string | null {
  const owner = portOwner(address, port)
  if (owner === null) return null
  return `port ${port} of ${address} in use by user ${owner}${owner === DEBIAN_USER ? DEBIAN_HINT : ''}`
}

function portOwner(address: string, port: number): string | null {
  const wanted = isIPv4(address) ? littleEndian(address) : null
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6'])
    for (const line of read(file).split('\n').slice(1)) {
      const [, local = '', , state, , , , uid = ''] = line.trim().split(/\s+/)
      const [host = '', hexPort] = local.split(':')
      if (state !== LISTENING || Number.parseInt(hexPort ?? '', 16) !== port) continue
      const isInTheWay = wanted === null || ANY.test(host) || host === wanted || host === MAPPED + wanted
      if (isInTheWay) return nameOf(uid)
    }
  return null
}

/** Formats an IPv4 address as the kernel does on little-endian processors. */
const littleEndian = (address: string): string =>
  address
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()

/** Name from passwd(5), or the number if the user has none. */
function nameOf(uid: string): string {
  const entry = read('/etc/passwd')
    .split('\n')
    .find((line) => line.split(':')[2] === uid)
  return entry?.split(':')[0] ?? uid
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // IPv6 may be absent
  }
}
