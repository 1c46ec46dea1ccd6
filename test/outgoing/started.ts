/** The real process for outgoing connections, started as the boot manager does, with the firmware's end in the test's process. */

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type FirmwareCommand, linkOf } from '../../boot/supervisor/firmware-process.ts'
import { createRelay } from '../../boot/supervisor/relay.ts'
import { createWantedProcess } from '../../boot/supervisor/wanted-process.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createOutgoingClient } from '../../firmware/outgoing/client.ts'
import type { ConnectionSettings } from '../../firmware/outgoing/link.ts'
import { connected } from '../boot/socket-pair.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'
import { buildForTests } from '../support/build.ts'

export const bundle = await buildForTests().then((program) => join(program, '..'))

export const command = (program: string, readable = [program]): FirmwareCommand => ({
  serves: 'outgoing',
  launcher: [],
  program,
  readable,
  storeDirectory: null,
  heapMegabytes: 48,
})

export async function openProcess(t: TestContext, settings: Partial<ConnectionSettings> = {}) {
  const relay = createRelay('outgoing')
  const [near, pipe] = await connected(t)
  relay.joinFirmware(near, assert.fail)
  const lines: string[] = []
  const launched: ChildProcess[] = []
  const wanted = createWantedProcess({
    name: 'outgoing',
    command: () => command(join(bundle, 'outgoing.js')),
    lock: null,
    onLaunch: (process) => {
      launched.push(process)
      relay.joinOther(linkOf(process))
    },
    onDown: () => {},
    onLines: (more) => lines.push(...more),
  })
  t.after(() => wanted.stop())
  const client = createOutgoingClient({
    pipe,
    want: wanted.want,
    log: createLog('error', () => {}),
    settings: () => ({ ...NO_SETTINGS, ...settings }),
  })
  return { client, launched, lines }
}

/** A job that the appliance has for itself; `host` is the one host that it may reach. */
export const get = (url: string, host: string) =>
  [
    { method: 'GET', url, headers: {}, body: new Uint8Array(0), answerHeaders: [], timeoutMs: 10_000 },
    { origin: 'appliance', hosts: [host] },
  ] as const
