/** The boot manager on the device, as it is; it also prints what each process holds, and what its etcd says of the cluster. */

import { readdirSync, readFileSync } from 'node:fs'
import * as z from 'zod'
import { openDevice } from '../../../boot/device/device-platform.ts'
import { launchFirmware } from '../../../boot/device/early.ts'
import { ETCD } from '../../../boot/device/system/mounts.ts'
import { socketIn } from '../../../boot/etcd/runner.ts'
import { run } from '../../../boot/manager.ts'
import { createGateway } from '../../../firmware/cluster/etcd/gateway.ts'
import { MARK, SAMPLE_MS, type Sample } from './sample.ts'

const STATUS_MS_MAX = 1000
const status = z.object({ raftTerm: z.string() })

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it has ended
  }
}
const kibibytes = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)

function nameOf(commandLine: string): 'firmware' | 'etcd' | null {
  if (commandLine.includes('/firmware.js\0')) return 'firmware'
  return commandLine.includes('\0--initial-cluster=') ? 'etcd' : null
}

function processes(): Sample['processes'] {
  const own = { name: 'boot' as const, pid: process.pid, kibibytes: kibibytes(read('/proc/self/status'), 'VmRSS') }
  const others = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .flatMap((pid) => {
      const name = nameOf(read(`/proc/${pid}/cmdline`))
      return name === null
        ? []
        : [{ name, pid: Number(pid), kibibytes: kibibytes(read(`/proc/${pid}/status`), 'VmRSS') }]
    })
  return [own, ...others]
}

async function term(): Promise<string | null> {
  const gateway = createGateway(socketIn(ETCD))
  try {
    return (await gateway.call('maintenance/status', {}, status, STATUS_MS_MAX)).raftTerm
  } catch {
    return null // none runs, or it is late
  } finally {
    gateway.close()
  }
}

async function sample(): Promise<void> {
  const taken: Sample = {
    processes: processes(),
    availableKibibytes: kibibytes(read('/proc/meminfo'), 'MemAvailable'),
    killed: Number(/^oom_kill (\d+)$/m.exec(read('/proc/vmstat'))?.[1] ?? 0),
    term: await term(),
  }
  console.log(`${MARK}${JSON.stringify(taken)}`)
}

run(await openDevice(launchFirmware(), (text) => console.log(text)))
setInterval(() => void sample(), SAMPLE_MS)
