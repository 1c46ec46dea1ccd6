// @test device 60
/** Acts that the firmware and etcd on the device cannot do, tried from inside by a probe that test builds alone have. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { hasGo } from '../../image/etcd-program.ts'
import { bundle } from '../../tools/build.ts'
import { boot, onMachines } from '../support/machine.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { buildImage, type Image, makeDirectory } from './images.ts'
import { bundleProbe } from './probe/build.ts'
import { ETCD_SECRET } from './probe/secrets.ts'

const CHECKS = [
  'an ordinary user without further groups',
  'no capability in any set but that of ports below 1024',
  'no new privileges',
  'no way back to root',
  'no signals to the boot manager',
  'no higher priority',
  'JavaScript reads nothing but program and store',
  'JavaScript writes nothing but the store',
  'JavaScript starts no program',
  'a thread is confined as well',
  'native code reads no secret of the system',
  'native code writes nothing but the store',
  'native code cannot be brought along',
  'no descriptor of anybody else',
  'limits of its own',
  'nothing of the machine in the environment',
]
const CHECKS_OF_OTHERS = [
  'an ordinary user without further groups',
  'no capabilities in any set',
  'no port of challenges',
  'no new privileges',
  'goes before the firmware when memory runs out',
  'reads no secret of the system',
  'writes nothing but its own',
]
const CHECKS_OF_ETCD = [...CHECKS_OF_OTHERS, 'writes its own']
/** Checks that a host gives up but a device must not: these have to fail there, or they could not fail at all. */
const NOT_ON_A_HOST = [
  'no new privileges',
  'no capability in any set but that of ports below 1024',
  'limits of its own',
  'native code writes nothing but the store',
  'native code cannot be brought along',
]

// At the same place each time: the image is built again only when the probe or the sources have changed.
const PROBE = join(import.meta.dirname, '../../dist/test-image/probe')

before(() => bundleProbe(PROBE))

interface Findings {
  /** Check to what was found: `holds`, or why it does not. */
  checks: Map<string, string>
  /** Secrets that the boot manager has seen. */
  there: string[]
}

function readFindings(output: string): Findings {
  const lines = output.split(/\r?\n/).flatMap((line) => /^probe: (.*)$/.exec(line)?.[1] ?? [])
  const checks = lines.flatMap((line): [string, string][] => {
    const [, name, finding] = /^(.*?): (holds|DOES NOT HOLD: .*)$/.exec(line) ?? []
    return name === undefined ? [] : [[name, finding!]]
  })
  return {
    checks: new Map(checks),
    there: lines.flatMap((line) => /^there is (.*)$/.exec(line)?.[1] ?? []),
  }
}

test(
  'the firmware, etcd and outgoing connections on the device can do nothing but their work',
  onMachines(),
  async (t) => {
    const image: Image = await buildImage({ bundle: PROBE })
    const machine = await boot(t, image, { tpm: makeDirectory(t) })
    await machine.see(/probe: finished\r?\n/)
    const { checks, there } = readFindings(machine.output())
    const wanted = [
      ...CHECKS,
      ...(hasGo() ? CHECKS_OF_ETCD.map((name) => `etcd: ${name}`) : []),
      ...CHECKS_OF_OTHERS.map((name) => `outgoing: ${name}`),
    ]
    assert.deepEqual(Object.fromEntries(checks), Object.fromEntries(wanted.map((name) => [name, 'holds'])))
    for (const path of [
      '/efi/EFI/BOOT/BOOTX64.EFI',
      '/dev/tpm0',
      '/dev/tpmrm0',
      '/dev/vda',
      '/dev/vda3', // where an update's root goes
      '/dev/vda4',
      '/proc/1/environ',
      ...(hasGo() ? [ETCD_SECRET] : []),
    ])
      assert.ok(there.includes(path), `${path} is not there, so that it cannot be read proves nothing`)
    assert.equal(await machine.state(), 'Unprovisioned')
  },
)

test('the probe notices what is missing: on a host most of the kernel’s part is', async (t: TestContext) => {
  t.after(() => rmSync('/tmp/coffer-probe', { force: true })) // which it could write
  const coffer = startCoffer(t, { program: join(PROBE, 'boot.js'), data: makeDataDirectory(t) })
  await coffer.see(/probe: finished\n/)
  const { checks } = readFindings(coffer.output())
  assert.deepEqual([...checks.keys()], CHECKS)
  for (const name of NOT_ON_A_HOST) assert.match(checks.get(name)!, /^DOES NOT HOLD: /, name)
  for (const name of ['JavaScript writes nothing but the store', 'nothing of the machine in the environment'])
    assert.equal(checks.get(name), 'holds', name)
})

test('no release has the probe in it', async (t) => {
  const release = makeDirectory(t)
  await bundle(release)
  const holdsProbe = (directory: string) =>
    readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes('DOES NOT HOLD'))
  assert.deepEqual(holdsProbe(release), [])
  assert.deepEqual(holdsProbe(PROBE), ['device.js', 'firmware.js'])
})
