/**
 * A network of machines: a switch that their cables lead to, and a way to their ports from this computer. A cable is a Unix socket
 * that carries frames, each after its length in four bytes: `-netdev stream` of qemu(1).
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePorts } from '../../tools/free-ports.ts'
import { endOf, userNetwork } from '../../tools/qemu/arguments.ts'

export interface Ethernet {
  readonly socket: string
  /** A port of 127.0.0.1 that leads to the port `to` of the machine at this address. */
  portTo(address: string): number
}

const LENGTH_BYTES = 4
const ADDRESS_BYTES = 6
const WAITING_BYTES_MAX = 1 << 20 // of a machine that does not read; frames beyond are dropped, as switches do

/** `addresses` are of one network of 24 bits. Ends with its test. */
export async function createEthernet(
  t: TestContext,
  directory: string,
  addresses: readonly string[],
  to: number,
): Promise<Ethernet> {
  const socket = join(directory, 'ethernet')
  const server = createServer(createSwitch())
  server.listen(socket)
  await once(server, 'listening')
  t.after(() => server.close())
  const ports = await freePorts(addresses.length)
  const forwards = addresses.map((address, at) => ({ here: ports[at]!, address, guest: to }))
  // A machine without anything but two ends of a wire.
  const router = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'qemu-system-x86_64', '-machine', 'none', '-nodefaults', '-display', 'none'],
      ...['-netdev', userNetwork({ forwards, isolated: true }), '-netdev', `stream,id=cable,${endOf({ socket })}`],
      ...['-netdev', 'hubport,id=here,hubid=0,netdev=net', '-netdev', 'hubport,id=there,hubid=0,netdev=cable'],
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  t.after(() => router.kill('SIGKILL'))
  return { socket, portTo: (address) => ports[addresses.indexOf(address)]! }
}

/** For each connection. It learns behind which cable an address is. */
function createSwitch(): (cable: Socket) => void {
  const cables = new Set<Socket>()
  const learned = new Map<string, Socket>()

  const forward = (from: Socket, frame: Buffer): void => {
    const addressAt = (offset: number): string => frame.toString('hex', offset, offset + ADDRESS_BYTES)
    learned.set(addressAt(LENGTH_BYTES + ADDRESS_BYTES), from)
    const known = learned.get(addressAt(LENGTH_BYTES))
    for (const cable of known === undefined ? cables : [known])
      if (cable !== from && cables.has(cable) && cable.writableLength < WAITING_BYTES_MAX) cable.write(frame)
  }

  return (cable) => {
    let waiting = Buffer.alloc(0)
    cables.add(cable)
    cable.on('error', () => {}) // the machine was switched off
    cable.once('close', () => cables.delete(cable))
    cable.on('data', (bytes) => {
      waiting = Buffer.concat([waiting, bytes])
      for (;;) {
        const end = waiting.length < LENGTH_BYTES ? Number.POSITIVE_INFINITY : LENGTH_BYTES + waiting.readUInt32BE(0)
        if (waiting.length < end) return
        forward(cable, waiting.subarray(0, end))
        waiting = waiting.subarray(end)
      }
    })
  }
}
