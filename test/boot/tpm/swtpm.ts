/** A TPM in software (swtpm 0.7), one for each test, spoken to through its socket without leaving the calling thread. */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { RESPONSE_BYTES_MAX, type Transport } from '../../../boot/tpm/transport.ts'

const START_MS_MAX = 10_000
const ANSWER_MS_MAX = 30_000

export interface Swtpm {
  /** Where tpm2-tools find it, while nothing else is connected. */
  tcti: string
  connect(): Transport
  /** Power cycle: registers and sessions are gone, persistent objects stay. */
  restart(): Promise<void>
}

/** A new TPM, or the one whose state is in `state`. */
export async function startSwtpm(t: TestContext, state?: string): Promise<Swtpm> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-tpm-'))
  const socket = join(directory, 'tpm')
  const transports = new Set<Transport>()
  let process: ChildProcess

  const start = async () => {
    process = spawn(
      'swtpm',
      [
        ...['socket', '--tpm2', '--flags', 'not-need-init,startup-clear'],
        ...['--tpmstate', `dir=${state ?? directory}`],
        ...['--server', `type=unixio,path=${socket}`, '--ctrl', `type=unixio,path=${socket}.ctrl`],
      ],
      { stdio: 'ignore' },
    )
    process.on('error', () => {}) // ends the wait below
    const deadline = performance.now() + START_MS_MAX
    while (!existsSync(socket)) {
      if (process.exitCode !== null || performance.now() > deadline) throw new Error('swtpm does not start')
      await delay(10)
    }
  }
  const stop = async () => {
    for (const transport of transports) transport.close()
    transports.clear()
    const ended = new Promise((resolve) => process.once('exit', resolve))
    process.kill('SIGTERM')
    await ended
    for (const path of [socket, `${socket}.ctrl`]) rmSync(path, { force: true })
  }
  t.after(async () => {
    await stop()
    rmSync(directory, { recursive: true })
  })
  await start()
  return {
    tcti: `swtpm:path=${socket}`,
    connect: () => {
      const transport = connect(socket)
      transports.add(transport)
      return transport
    },
    restart: async () => {
      await stop()
      await start()
    },
  }
}

/** Node has no blocking sockets: a thread reads and writes, and we sleep until it has the response. */
function connect(path: string): Transport {
  const shared = new SharedArrayBuffer(8 + RESPONSE_BYTES_MAX)
  const signal = new Int32Array(shared, 0, 2) // responses so far; length of the last
  const worker = new Worker(new URL('./socket-thread.ts', import.meta.url), { workerData: { path, shared } })
  worker.unref()
  return {
    transmit: (command) => {
      const before = Atomics.load(signal, 0)
      worker.postMessage(command)
      // The notification of the previous response may come this late and wakes the thread too early.
      while (Atomics.load(signal, 0) === before) {
        if (Atomics.wait(signal, 0, before, ANSWER_MS_MAX) === 'timed-out') throw new Error('swtpm does not answer')
      }
      return new Uint8Array(shared).slice(8, 8 + signal[1]!)
    },
    close: () => {
      worker.postMessage(null)
    },
  }
}
