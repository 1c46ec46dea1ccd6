import assert from 'node:assert/strict'
import test from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import type { ApplianceState } from '../../firmware/base/states.ts'
import { createRig, hasCode, Notes, PROVISIONING, UNLOCK, utf8 } from './rig.ts'

const WRONG = utf8('another passphrase')

test('an empty directory gives an Unprovisioned appliance', async (t) => {
  const appliance = await createRig(t).open()
  assert.equal(appliance.state, 'Unprovisioned')
  assert.equal(appliance.failure, undefined)
  assert.throws(() => appliance.open(), hasCode('unavailable', /^Service not available$/))
})

test('provisioning opens the domain with the first administrator and sets the clock', async (t) => {
  const appliance = await createRig(t).open()
  await appliance.provision(PROVISIONING)
  assert.equal(appliance.state, 'Operational')
  assert.deepEqual([...appliance.open().names], ['admin'])
  assert.equal(appliance.open().read('admin'), 'first')
  const ahead = appliance.clock.now() - PROVISIONING.systemTimeMs
  assert.ok(ahead >= 0 && ahead < 60_000, `${ahead} ms`)
})

test('each operation is refused in every state it is not for', async (t) => {
  const rig = createRig(t)
  const refused = async (appliance: Awaited<ReturnType<typeof rig.open>>, names: string[]): Promise<void> => {
    const operations: Record<string, () => unknown> = {
      provision: () => appliance.provision(PROVISIONING),
      unlock: () => appliance.unlock(UNLOCK),
      lock: () => appliance.lock(),
      open: () => appliance.open(),
      changeUnlockPassphrase: () => appliance.changeUnlockPassphrase(UNLOCK, WRONG),
      unattendedBoot: () => appliance.unattendedBoot,
      setUnattendedBoot: () => appliance.setUnattendedBoot(true),
      setTime: () => appliance.setTime(0),
    }
    const state = appliance.state
    for (const name of names) {
      await assert.rejects(async () => operations[name]!(), hasCode('unavailable'), `${name} in ${state}`)
      assert.equal(appliance.state, state)
    }
  }
  const configuring = ['open', 'changeUnlockPassphrase', 'unattendedBoot', 'setUnattendedBoot', 'setTime']
  const appliance = await rig.open()
  await refused(appliance, ['unlock', 'lock', ...configuring])
  await appliance.provision(PROVISIONING)
  await refused(appliance, ['provision', 'unlock'])
  appliance.lock()
  await refused(appliance, ['provision', 'lock', ...configuring])
  appliance.close()
  await refused(appliance, ['provision', 'unlock', 'lock', ...configuring])
  const failed = await rig.open({ deviceKey: null })
  assert.equal(failed.state, 'Failed')
  await refused(failed, ['provision', 'unlock', 'lock', ...configuring])
})

test('listeners hear of each change of state', async (t) => {
  const appliance = await createRig(t).open()
  const states: ApplianceState[] = []
  appliance.onState((state) => states.push(state))
  await appliance.provision(PROVISIONING)
  appliance.lock()
  await assert.rejects(appliance.unlock(WRONG))
  await appliance.unlock(UNLOCK)
  assert.deepEqual(states, ['Operational', 'Locked', 'Operational'])
})

test('a wrong unlock passphrase is forbidden and leaves the appliance Locked, the right one opens it', async (t) => {
  const appliance = await createRig(t).open()
  await appliance.provision(PROVISIONING)
  await appliance.open().write('note', 'content')
  appliance.lock()
  for (const passphrase of [WRONG, utf8(''), UNLOCK.subarray(1)]) {
    await assert.rejects(appliance.unlock(passphrase), hasCode('forbidden'))
    assert.equal(appliance.state, 'Locked')
  }
  await appliance.unlock(UNLOCK)
  assert.equal(appliance.open().read('note'), 'content')
})

test('locking flushes and closes the domain, forgets opened keys, and ends what is under way', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  const notes = appliance.open()
  notes.counted = 5
  appliance.lock()
  assert.equal(notes.closed, true)
  assert.equal(rig.pool.forgotten, 1)
  assert.throws(() => notes.read('admin'), hasCode('unavailable'))
  await assert.rejects(notes.write('late', 'content'), hasCode('unavailable'))
  assert.throws(() => notes.isDamaged('admin'), hasCode('unavailable'))
  await appliance.unlock(UNLOCK)
  assert.equal(appliance.open().counted, 5)
  assert.equal(appliance.open().names.has('late'), false)
})

test('a listing that a lock overtakes ends with unavailable', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open({
    openDomain: (records) => Object.assign(new Notes(records), { listing: records.list('users') }),
  })
  await appliance.provision(PROVISIONING)
  await appliance.open().write('second', 'content')
  const { listing } = appliance.open() as Notes & { listing: Iterator<Uint8Array> }
  assert.equal(listing.next().done, false)
  appliance.lock()
  assert.throws(() => listing.next(), hasCode('unavailable'))
})

test('a lock succeeds even when counters cannot be persisted', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  appliance.open().flush = () => {
    throw new CofferError('storage', 'no room')
  }
  appliance.lock()
  assert.equal(appliance.state, 'Locked')
  assert.ok(rig.messages.some((message) => message.includes('cannot store counters: no room')))
})

test('after a restart the appliance is Locked, holds what was written, and keeps the time', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  await first.open().write('note', 'content')
  first.setTime(Date.UTC(2040, 5, 6))
  first.close()
  const second = await rig.open()
  assert.equal(second.state, 'Locked')
  assert.ok(Math.abs(second.clock.now() - Date.UTC(2040, 5, 6)) < 60_000)
  await second.unlock(UNLOCK)
  assert.equal(second.open().read('note'), 'content')
})

test('with unattended start on, a restart needs no passphrase; switched off, it does', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  assert.equal(first.unattendedBoot, false)
  first.setUnattendedBoot(true)
  first.setUnattendedBoot(true)
  assert.equal(first.unattendedBoot, true)
  first.close()
  const second = await rig.open()
  assert.equal(second.state, 'Operational')
  assert.equal(second.open().read('admin'), 'first')
  second.lock()
  assert.equal(second.state, 'Locked')
  await second.unlock(UNLOCK)
  second.setUnattendedBoot(false)
  assert.equal(second.unattendedBoot, false)
  second.close()
  assert.equal((await rig.open()).state, 'Locked')
})

test('after a change only the new unlock passphrase opens; a wrong current one changes nothing', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  const next = utf8('the next passphrase')
  await assert.rejects(appliance.changeUnlockPassphrase(WRONG, next), hasCode('forbidden'))
  await appliance.changeUnlockPassphrase(UNLOCK, next)
  appliance.close()
  const second = await rig.open()
  await assert.rejects(second.unlock(UNLOCK), hasCode('forbidden'))
  await second.unlock(next)
  assert.equal(second.open().read('admin'), 'first')
})

test('the costs of the unlock key travel with its slot', async (t) => {
  const rig = createRig(t)
  const first = await rig.open({ unlockCost: { N: 32, r: 2, p: 3 } })
  await first.provision(PROVISIONING)
  first.close()
  const second = await rig.open({ unlockCost: { N: 64, r: 1, p: 1 } })
  await second.unlock(UNLOCK)
  assert.equal(second.state, 'Operational')
})

test('the TLS identity is made once, survives restarts, and is not in clear on the disk', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  assert.deepEqual(first.tlsIdentity().key, utf8('key 1'))
  first.close()
  const second = await rig.open()
  assert.deepEqual(second.tlsIdentity().key, utf8('key 1'))
  assert.equal(second.tlsIdentity().cert, 'chain 1')
  assert.equal(rig.identitiesMade, 1)
})

test('closing twice is closing once, and wipes and flushes', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  const notes = appliance.open()
  appliance.close()
  appliance.close()
  assert.equal(notes.flushes, 1)
  assert.equal(notes.closed, true)
  assert.equal(rig.pool.forgotten, 1)
})

test('counters are flushed every hour while Operational', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const appliance = await createRig(t).open()
  await appliance.provision(PROVISIONING)
  const notes = appliance.open()
  t.mock.timers.tick(3_600_000)
  assert.equal(notes.flushes, 1)
  t.mock.timers.tick(3_600_000)
  assert.equal(notes.flushes, 2)
  appliance.lock()
  t.mock.timers.tick(3_600_000)
  assert.equal(notes.flushes, 3) // the one of the lock
})
