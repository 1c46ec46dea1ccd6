import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { heapFor } from '../../../boot/device/early.ts'
import { hardenKernel } from '../../../boot/device/hardening.ts'
import { keepTime, type SystemClock } from '../../../boot/device/machine-clock.ts'
import { mustRun, ProgramError, runProgram } from '../../../boot/device/system/programs.ts'

function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-kernel-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

test('settings of the kernel are made for every interface and for those to come, and unknown ones passed over', (t) => {
  const sysctls = makeDirectory(t)
  const names = [
    'kernel/kptr_restrict',
    'kernel/modules_disabled',
    'net/ipv4/conf/all/rp_filter',
    'net/ipv4/conf/default/rp_filter',
    'net/ipv4/conf/eth0/rp_filter',
    'net/ipv6/conf/default/accept_ra',
    'net/ipv6/conf/lo/disable_ipv6',
  ]
  for (const name of names) {
    mkdirSync(join(sysctls, dirname(name)), { recursive: true })
    writeFileSync(join(sysctls, name), '?')
  }
  hardenKernel(sysctls)
  const value = (name: string) => readFileSync(join(sysctls, name), 'utf8')
  assert.deepEqual(names.map(value), ['2', '1', '1', '1', '1', '0', '?'])
  assert.equal(existsSync(join(sysctls, 'kernel/sysrq')), false)
})

interface Clock extends SystemClock {
  timeMs: number
}

function makeClock(timeMs: number): Clock {
  const clock: Clock = {
    timeMs,
    now: () => clock.timeMs,
    set: (timeMs) => {
      clock.timeMs = timeMs
    },
  }
  return clock
}

const BUILT_MS = Date.UTC(2026, 0, 1)

test('without a hardware clock time goes on from the image, and then from what was noted', (t) => {
  const note = join(makeDirectory(t), 'time')
  t.mock.timers.enable({ apis: ['setInterval'] })
  const first = makeClock(0)
  keepTime(note, BUILT_MS, first, false)
  assert.equal(first.timeMs, BUILT_MS)
  first.timeMs += 3_600_000
  t.mock.timers.tick(600_000)
  const second = makeClock(0)
  keepTime(note, BUILT_MS, second, false)
  assert.equal(second.timeMs, BUILT_MS + 3_600_000)
})

test('without a hardware clock a clock that is right is left alone', (t) => {
  const note = join(makeDirectory(t), 'time')
  writeFileSync(note, '')
  utimesSync(note, BUILT_MS / 1000, BUILT_MS / 1000)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const clock = makeClock(BUILT_MS + 1)
  keepTime(note, BUILT_MS, clock, false)
  assert.equal(clock.timeMs, BUILT_MS + 1)
  assert.equal(statSync(note).mtimeMs, BUILT_MS + 1)
})

test('a hardware clock is believed', (t) => {
  const note = join(makeDirectory(t), 'time')
  const clock = makeClock(5)
  keepTime(note, BUILT_MS, clock, true)
  assert.equal(clock.timeMs, 5)
  assert.equal(existsSync(note), false)
})

test('the heap follows the memory, within bounds', () => {
  const megabyte = 1024 * 1024
  assert.equal(heapFor(230 * megabyte), 96)
  assert.equal(heapFor(480 * megabyte), 160)
  assert.equal(heapFor(64 * 1024 * megabyte), 1024)
})

test('a program that fails is named with its last words', async () => {
  await assert.rejects(
    mustRun('/bin/sh', ['-c', 'echo first; echo >&2 "it is broken"; exit 4']),
    new ProgramError('sh failed (4): it is broken'),
  )
  await assert.rejects(
    mustRun('/no/such/program', []),
    (error) => error instanceof ProgramError && /^program did not run to its end: /.test(error.message),
  )
})

test('a program reads what it is given, and its output is bounded', async () => {
  assert.deepEqual(await runProgram('/bin/cat', [], 'some input'), { status: 0, output: 'some input' })
  const { output } = await runProgram('/bin/sh', ['-c', 'head -c 1000000 /dev/zero | tr "\\0" x'])
  assert.equal(output.length, 64 * 1024)
})

test('what starts the image is a valid script', () => {
  for (const name of ['init', 'sbin-init']) {
    const { status, stderr } = spawnSync('sh', ['-n', join(import.meta.dirname, '../../../image', name)], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  }
})
