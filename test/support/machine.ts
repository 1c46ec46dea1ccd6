/** A device in QEMU for tests: it never outlives its test. */

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Kernel, missingPackages, type QemuArchitecture, type QemuFirmware } from '../../tools/qemu/arguments.ts'
import { type Machine, type MachineOptions, startMachine } from '../../tools/qemu/machine.ts'
import { PATIENCE_MS } from '../../tools/qemu/serial-console.ts'
import type { Image } from '../image/images.ts'
import { type Client, stateOf } from './appliance.ts'
import { type Call, request, targetOf } from './client.ts'
import { packagesMissing, unlessMissing } from './tools.ts'
import { unpackedKernel } from './unpacked-kernel.ts'

/** This computer, as a machine that is not isolated sees it. */
export const THIS_COMPUTER = '192.168.1.254'

const LOGS = join(import.meta.dirname, '../../dist/test-image/logs')
const TEST_MS_MAX = 3_600_000 // some do in a minute what takes many on a busy computer
const ATTEMPT_EVERY_MS = 50
const ATTEMPT_MS = 5000
const INSTRUCTION = /\b(?:RIP|PC)=.*/g // of each processor, with its flags and whether it waits

/** Options of a test file's tests: `test(name, onMachines(), ...)`. Without QEMU they are skipped, in CI they fail. */
export function onMachines(architecture: QemuArchitecture = 'x64'): { timeout: number; skip: string | false } {
  return { timeout: TEST_MS_MAX, ...unlessMissing([...missingPackages(architecture), ...packagesMissing(TOOLS)]) }
}

/** Tools that build images and read disks. */
const TOOLS = [
  ...(['e2fsck', 'mcopy', 'mkfs.vfat', 'mksquashfs', 'qemu-io', 'sbsign', 'sfdisk', 'sgdisk', 'tpm2_getcap'] as const),
  ...(['veritysetup', 'xz'] as const),
] as const

export interface Appliance extends Machine, Client {
  /** Waits until the API answers; resolves with the time since the machine was switched on. */
  answers(): Promise<number>
  state(): Promise<string>
}

export interface BootOptions extends Omit<MachineOptions, 'disk' | 'firmware'> {
  /** Absent: a snapshot of the image's own disk. */
  disk?: string
  /** Absent: direct. */
  firmware?: QemuFirmware
}

/**
 * Switches a machine on. It is killed with its test; what its console said is in dist/test-image/logs, and when the test
 * failed, what its processors were doing at the end.
 *
 * Tests of starts, signatures, the contract, confinement and power cuts have two cores. Where versions, keys and their order
 * or the clock matter there is one, as the smallest devices have.
 */
export async function boot(t: TestContext, image: Image, options: BootOptions = {}): Promise<Appliance> {
  const { disk, firmware = 'direct', ...rest } = options
  const kernel = firmware === 'direct' ? await kernelFor(image, rest) : undefined
  const switchedOn = performance.now()
  const machine = await startMachine({
    exitOnRestart: true,
    ...rest,
    firmware,
    kernel,
    disk: disk ?? image.disk,
    snapshot: rest.snapshot ?? disk === undefined,
    unsafe: true,
  })
  const log = logPath(t)
  t.after(async () => {
    const processors = (t as { passed?: boolean }).passed || !machine.running() ? '' : await machine.processors()
    await machine.kill()
    writeFileSync(log, machine.output() + processors)
    if (processors !== '') t.diagnostic(processors)
  })

  const client = clientAt(machine.apiPort)
  return {
    ...machine,
    ...client,
    answers: async () => {
      // None before the console names the address: early ones hang, many hold up the guest.
      await untilAlive({ ...machine, ...client }, () => machine.output().includes('https://'))
      return Math.round(performance.now() - switchedOn)
    },
  }
}

const kernelFor = async ({ kernel }: Image, { tpm }: BootOptions): Promise<Kernel> =>
  tpm === undefined ? { ...kernel, image: await unpackedKernel(kernel.image) } : kernel

export function clientAt(port: number, host = '127.0.0.1'): Pick<Appliance, 'call' | 'state'> {
  const target = { host, port }
  const call = (method: string, path: string, call?: Call) =>
    request(target, method, targetOf(path), { timeoutMs: PATIENCE_MS, ...call })
  return { call, state: () => stateOf({ call }) }
}

/** Asks one request at a time, and none before `mayAsk`. Fails at once when the machine ends. */
export async function untilAlive(
  { call, running, output, processors }: Pick<Appliance, 'call' | 'running' | 'output' | 'processors'>,
  mayAsk = () => true,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  const tail = () => `the console's end:\n${output().slice(-4000)}`
  for (;;) {
    assert.ok(running(), `the machine ended before it answered; ${tail()}`)
    if (performance.now() > deadline) {
      const registers = await processors()
      const where = registers.match(INSTRUCTION)?.join('\n') ?? registers
      assert.fail(`no answer in ${PATIENCE_MS} ms; its processors:\n${where}\n${tail()}`)
    }
    if (mayAsk()) {
      const reply = await call('GET', '/health/alive', { timeoutMs: ATTEMPT_MS }).catch(() => null) // not yet
      if (reply !== null) return
    }
    await wait(ATTEMPT_EVERY_MS)
  }
}

let machines = 0
function logPath(t: TestContext): string {
  mkdirSync(LOGS, { recursive: true })
  const name = t.fullName
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 80)
  return join(LOGS, `${name}-${++machines}.log`)
}
