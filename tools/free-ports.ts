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
  const end = portsEnd()
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomPort(end)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

const portsEnd = (): number => Number.parseInt(readFileSync(RANGE, 'latin1'), 10)
const randomPort = (end: number): number => FIRST + Math.floor(Math.random() * (end - FIRST))

export async function freePort(): Promise<number> {
  const end = portsEnd()
  for (;;) {
    const port = randomPort(end)
    if (await isFree(port)) return port
  }
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
