/**
 * How long a device takes from the switch to its first HTTPS answer under emulation, and how long the same machine takes
 * with a bare HTTPS server of Node as its only program: what no appliance on this runtime can beat. First starts, with
 * 256 MB and two cores, in turns. `node tools/bench/start.ts [--rounds 3]`; it needs what `make image` and QEMU need.
 */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { bundle } from '../build.ts'
import { missingPackages } from '../qemu/arguments.ts'
import { flash } from '../qemu/flash.ts'
import { startMachine } from '../qemu/machine.ts'
import { makeReleaseKey } from '../release-key.ts'
import { createClient, median, othersShare, root, writeResults } from './harness.ts'

const VERSION = '1.0.0'
const MEGABYTES = 256
const START_MS_MAX = 180_000
const ATTEMPT_MS = 5_000
const ATTEMPT_EVERY_MS = 50

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds: at least 1')

const missing = missingPackages('x64')
if (missing.length > 0) {
  console.log(`Starts are not measured: install these Debian packages first: ${missing.join(' ')}`)
  process.exit()
}
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
makeReleaseKey(join(directory, 'release'))
await bundle(join(directory, 'program'), VERSION)
await bundle(join(directory, 'bare-program'), VERSION, [await bareDevice()])
const [coffer, bare] = [makeImage('program'), makeImage('bare-program')]

const otherPrograms = await othersShare()
const results = []
console.log('first start        coffer s   bare s   ratio   (medians, and of each round)')
for (const firmware of ['direct', 'ovmf'] as const) {
  const times: { coffer: number; bare: number }[] = []
  for (let round = 0; round < rounds; round++)
    times.push({ bare: await start(bare, firmware), coffer: await start(coffer, firmware) })
  const of = (name: 'coffer' | 'bare') => times.map((time) => time[name])
  const ratio = median(times.map((time) => time.coffer / time.bare))
  const row = [median(of('coffer')).toFixed(1).padStart(9), median(of('bare')).toFixed(1).padStart(9)]
  const each = times.map((time) => `${time.coffer.toFixed(1)}/${time.bare.toFixed(1)}`).join(' ')
  const name = firmware === 'direct' ? 'without UEFI' : 'through UEFI'
  console.log(`${name.padEnd(18)}${row.join('')}${ratio.toFixed(2).padStart(8)}   ${each}`)
  results.push({ firmware, ratio, times })
}
writeResults('start', { otherPrograms, results })

async function bareDevice(): Promise<NonNullable<Parameters<typeof bundle>[2]>[number]> {
  const { key, cert } = await makeTlsIdentity(systemRandom)
  const identity = JSON.stringify({ key: Buffer.from(key).toString(), cert })
  const source = readFileSync(join(import.meta.dirname, 'bare-device.ts'), 'utf8')
  const contents = `const identity = ${identity}\n${source.replace(/^declare const identity.*$/m, '')}`
  return {
    name: 'a bare server as the device',
    setup: ({ onLoad }) => {
      onLoad({ filter: /boot\/device\/main\.ts$/ }, () => ({ contents, loader: 'ts', resolveDir: import.meta.dirname }))
    },
  }
}

function makeImage(program: string): string {
  const output = join(directory, `${program}-image`)
  const keys = [
    '--release-key',
    join(directory, 'release.pub'),
    '--release-signing-key',
    join(directory, 'release.key'),
  ]
  const parameters = ['--version', VERSION, '--bundle', join(directory, program), ...keys, '--output', output]
  execFileSync(process.execPath, [join(root, 'image/build.ts'), ...parameters], { stdio: 'pipe' })
  return output
}

/** Seconds until the first answer of a machine that has never run before. */
async function start(image: string, firmware: 'direct' | 'ovmf'): Promise<number> {
  const file = (name: string) => join(image, name)
  const disk = join(directory, 'disk.img')
  flash(file(`coffer-${VERSION}.img`), disk)
  const commandLine = readFileSync(file('cmdline'), 'utf8').trim()
  const kernel = firmware === 'direct' ? { image: file('vmlinuz'), initrd: file('initrd'), commandLine } : undefined
  const switchedOn = performance.now()
  const machine = await startMachine({ firmware, kernel, disk, memoryMegabytes: MEGABYTES, unsafe: true })
  const client = createClient({ port: machine.apiPort }, 1)
  try {
    for (;;) {
      if (!machine.running() || performance.now() - switchedOn > START_MS_MAX)
        throw new Error(`No answer; the console's end:\n${machine.output().slice(-2000)}`)
      // none before the console names the address: early ones hang
      if (machine.output().includes('https://')) {
        const asked = client.call('GET', '/health/alive').catch(() => null)
        const answer = await Promise.race([asked, wait(ATTEMPT_MS, null)])
        if (answer !== null) return (performance.now() - switchedOn) / 1000
      }
      await wait(ATTEMPT_EVERY_MS)
    }
  } finally {
    client.close()
    await machine.kill()
  }
}
