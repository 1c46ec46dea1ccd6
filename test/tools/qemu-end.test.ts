/** A machine whose QEMU ends early says why. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startMachine } from '../../tools/qemu/machine.ts'
import { onMachines } from '../support/machine.ts'

test('who waits for a machine that ended is told what QEMU said and its exit code', onMachines(), async (t) => {
  const kernel = { image: '/dev/null/kernel', initrd: '/dev/null/initrd', commandLine: '' }
  const machine = await startMachine({ firmware: 'direct', kernel, disk: '/dev/null' })
  t.after(() => machine.kill())
  await assert.rejects(machine.see(/Coffer/), /\/dev\/null\/kernel[\s\S]*QEMU ended with 1\n/)
})

test('or the signal that killed it', onMachines(), async (t) => {
  const machine = await startMachine({ firmware: 'ovmf', disk: '/dev/null' })
  t.after(() => machine.kill())
  const told = assert.rejects(machine.see(/no machine prints this/), /QEMU ended with SIGKILL\n/)
  process.kill(machine.pid, 'SIGKILL')
  await told
})
