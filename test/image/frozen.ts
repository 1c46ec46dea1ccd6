/** A running machine put aside, to go on from the same moment several times: QEMU's migration to a file (QMP reference). */

import { once } from 'node:events'
import { copyFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { flash } from '../../tools/qemu/flash.ts'
import { PATIENCE_MS } from '../../tools/qemu/serial-console.ts'
import { type Appliance, type BootOptions, boot, untilAlive } from '../support/machine.ts'
import { type Image, makeDirectory } from './images.ts'

interface Freezable extends BootOptions {
  disk: string
  variables: string
}

interface Frozen {
  /** Another machine that goes on from there, on a disk of its own, and answers. */
  thaw(): Promise<{ machine: Appliance; options: Freezable }>
}

/** A machine that can be frozen: what it was started with has a place to talk to QEMU. */
export async function bootFreezable(t: TestContext, image: Image, options: Freezable) {
  const directory = makeDirectory(t)
  const monitor = join(directory, 'monitor')
  const machine = await boot(t, image, {
    ...options,
    extra: ['-qmp', `unix:${monitor},server=on,wait=off`, '-global', 'migration.store-global-state=off'],
  })
  const freeze = async (): Promise<Frozen> => {
    const state = join(directory, 'state')
    await migrate(monitor, state)
    await machine.kill()
    return {
      thaw: async () => {
        const own = makeDirectory(t)
        const [disk, variables] = [join(own, 'disk.img'), join(own, 'variables.fd')]
        flash(options.disk, disk, statSync(options.disk).size)
        copyFileSync(options.variables, variables)
        const thawed = { ...options, disk, variables }
        // The monitor is no part of the machine that is saved.
        const machine = await boot(t, image, { ...thawed, extra: ['-incoming', `exec:cat ${state}`] })
        await untilAlive(machine)
        return { machine, options: thawed }
      },
    }
  }
  return { machine, freeze }
}

/**
 * Stops the machine, and writes all of it but for its disk to the file. Saved while it runs, with more than one emulated
 * processor, pages are missed that it changes meanwhile. That it was stopped is not saved: where it is read, it runs.
 */
async function migrate(monitor: string, file: string): Promise<void> {
  const socket = connect(monitor)
  await once(socket, 'connect')
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const execute = async <T>(command: string, parameters: object = {}): Promise<T> => {
    socket.write(`${JSON.stringify({ execute: command, arguments: parameters })}\n`)
    for (;;) {
      const { value: line, done } = await lines.next()
      if (done) throw new Error(`QEMU ended during ${command}`)
      const message = JSON.parse(line) as { return?: T; error?: { desc: string } }
      if (message.error !== undefined) throw new Error(`${command}: ${message.error.desc}`)
      if (message.return !== undefined) return message.return
    }
  }
  try {
    await execute('qmp_capabilities')
    await execute('stop')
    await execute('migrate', { uri: `exec:cat >${file}` })
    for (const deadline = Date.now() + PATIENCE_MS; ; await wait(100)) {
      const { status } = await execute<{ status?: string }>('query-migrate')
      if (status === 'completed') return
      if (status === 'failed' || Date.now() > deadline) throw new Error(`the machine was not saved: ${status}`)
    }
  } finally {
    socket.destroy()
  }
}
