/** Configuration and times of chronyd's starts. Contract section 3.4. */

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { configurationOf, createTimeKeeper, hostsOf } from '../../../boot/device/time.ts'

class Chronyd extends EventEmitter {
  readonly stderr = new PassThrough()
  readonly configuration: string
  killed = false

  constructor(configuration: string) {
    super()
    this.configuration = configuration
  }

  kill(): void {
    this.killed = true
    this.emit('close')
  }
}

function makeRig() {
  const started: Chronyd[] = []
  const said: string[] = []
  let times = 0
  const heard: boolean[] = []
  const time = createTimeKeeper({
    say: (text) => said.push(text),
    onTime: () => times++,
    onServer: (isHeard) => heard.push(isHeard),
    start: (configuration) => {
      const chronyd = new Chronyd(configuration)
      started.push(chronyd)
      return chronyd as unknown as ChildProcess
    },
  })
  return { time, started, said, times: () => times, heard }
}

test('without a name the server is asked by NTP, with one by NTS, and nobody is served', () => {
  assert.match(configurationOf({ ntpIP: '192.0.2.7' })!, /^server 192\.0\.2\.7 iburst\n/)
  const nts = { ntpIP: '2001:db8::7', ntsName: 'time.example' }
  assert.match(configurationOf(nts)!, /^server time\.example iburst nts\n/)
  assert.match(hostsOf(nts), /^2001:db8::7 time\.example\n/m)
  for (const line of ['port 0', 'cmdport 0', 'bindcmdaddress /'])
    assert.ok(configurationOf(nts)!.split('\n').includes(line), line)
  assert.equal(configurationOf({}), null)
  assert.equal(configurationOf({ ntsName: 'time.example' }), null)
})

test('chronyd runs while a server is set, and the one before ends with each change', async () => {
  const { time, started, said, times } = makeRig()
  time.apply({})
  assert.equal(started.length, 0)
  time.apply({ ntpIP: '192.0.2.7' })
  time.apply({ ntpIP: '192.0.2.7' }) // the next start of the firmware
  assert.equal(started.length, 1)
  started[0]!.stderr.write('2026-11-23T12:00:00Z Selected source 192.0.2.7\n')
  await turn()
  assert.equal(times(), 1)
  time.apply({ ntpIP: '192.0.2.8' })
  assert.deepEqual([started.length, started[0]!.killed], [2, true])
  started[0]!.stderr.write('Selected source 192.0.2.7\n')
  await turn()
  assert.equal(times(), 1)
  time.apply({})
  assert.deepEqual([started.length, started[1]!.killed, said.length], [2, true, 0])
})

test('the next one starts when the one before has ended, with the settings of then', () => {
  const { time, started, said } = makeRig()
  time.apply({ ntpIP: '192.0.2.7' })
  const [first] = started
  first!.kill = () => {
    first!.killed = true // and ends a moment later
  }
  time.apply({ ntpIP: '192.0.2.8' })
  time.apply({ ntpIP: '192.0.2.9' })
  assert.deepEqual([started.length, first!.killed], [1, true])
  first!.emit('close')
  assert.equal(started.length, 2)
  assert.match(started[1]!.configuration, /^server 192\.0\.2\.9 /)
  assert.deepEqual(said, [])
})

test('one that ends is started again after a minute, and it is said', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { time, started, said } = makeRig()
  time.apply({ ntpIP: '192.0.2.7' })
  started[0]!.emit('close')
  assert.equal(said.length, 1)
  t.mock.timers.tick(59_999)
  assert.equal(started.length, 1)
  t.mock.timers.tick(1)
  assert.equal(started.length, 2)
  started[1]!.emit('close')
  time.apply({})
  t.mock.timers.tick(60_000)
  assert.equal(started.length, 2)
})

test('a name without an address is said: the device has no name service', () => {
  const { time, started, said } = makeRig()
  time.apply({ ntsName: 'time.example' })
  assert.deepEqual([started.length, said], [0, ['The time server time.example is not used: its address is not set.']])
})

test('whether the server sets the clock is reported to each run of the firmware, and when that changes', async () => {
  const { time, started, heard } = makeRig()
  const reports = () => heard.splice(0)
  const ntp = { ntpIP: '192.0.2.7' }
  time.apply(ntp)
  assert.deepEqual(reports(), [false])
  started[0]!.stderr.write('2026-11-23T12:00:00Z Selected source 192.0.2.7\n')
  await turn()
  assert.deepEqual(reports(), [true])
  time.apply(ntp) // the next start of the firmware
  assert.deepEqual(reports(), [true])
  const lost = "Can't synchroni" // chronyd's spelling is British
  started[0]!.stderr.write(`2026-11-23T14:00:00Z ${lost}se: no selectable sources\n`)
  await turn()
  time.apply(ntp)
  assert.deepEqual(reports(), [false, false])
  started[0]!.stderr.write('2026-11-23T15:00:00Z Selected source 192.0.2.7\n')
  await turn()
  started[0]!.emit('close')
  assert.deepEqual(reports(), [true, false])
  time.apply({})
  assert.deepEqual(reports(), [false])
})
