/** Ports for programs that are told where to listen. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const FIRST = 10_000
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range'

/**
 * TCP ports of 127.0.0.1 that nobody listens on. None is of those that the system gives to connections, one of which might have it
 * when the program comes to listen: ip(7).
 */
export async function freePorts(count: number): Promise<number[]> {
  const end = Number(readFileSync(RANGE, 'latin1').split('\t')[0])
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = FIRST + Math.floor(Math.random() * (end - FIRST))
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port!
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
