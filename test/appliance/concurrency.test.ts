import assert from 'node:assert/strict'
import test from 'node:test'
import { CONSOLE } from '../../firmware/appliance/unlocking.ts'
import { createLoginLimiter } from '../../firmware/base/login-limiter.ts'
import { createRig, Notes, PROVISIONING, UNLOCK, utf8 } from './rig.ts'

const settle = (promises: Promise<unknown>[]): Promise<string[]> =>
  Promise.all(
    promises.map((promise) =>
      promise.then(
        () => 'done',
        (error) => error.code,
      ),
    ),
  )

test('of several provisionings at once exactly one succeeds', async (t) => {
  const appliance = await createRig(t).open()
  const outcomes = await settle(Array.from({ length: 5 }, () => appliance.provision(PROVISIONING)))
  assert.deepEqual(outcomes, ['done', 'unavailable', 'unavailable', 'unavailable', 'unavailable'])
  assert.equal(appliance.state, 'Operational')
})

test('derivations run one at a time, and the queue is bounded', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  appliance.lock()
  rig.pool.runningMax = 0
  const outcomes = await settle(Array.from({ length: 40 }, () => appliance.unlock(utf8('a wrong passphrase'))))
  assert.equal(rig.pool.runningMax, 1)
  assert.deepEqual(new Set(outcomes), new Set(['forbidden', 'busy']))
  await appliance.unlock(UNLOCK)
  assert.equal(appliance.state, 'Operational')
})

test('a right unlock among wrong ones opens once; those behind it find the appliance Operational', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  appliance.lock()
  const outcomes = await settle([utf8('a wrong passphrase'), UNLOCK, UNLOCK].map((p) => appliance.unlock(p)))
  assert.deepEqual(outcomes, ['forbidden', 'done', 'unavailable'])
})

test('a lock during a passphrase change leaves the former passphrase in force', async (t) => {
  const rig = createRig(t)
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  let release = (): void => {}
  rig.pool.gate = new Promise((resolve) => {
    release = resolve
  })
  const change = settle([appliance.changeUnlockPassphrase(UNLOCK, utf8('the next passphrase'))])
  await new Promise(setImmediate)
  appliance.lock()
  release()
  assert.deepEqual(await change, ['unavailable'])
  await appliance.unlock(UNLOCK)
  assert.equal(appliance.state, 'Operational')
})

for (const operation of ['provision', 'unlock'] as const) {
  test(`closing during ${operation} writes nothing afterwards`, async (t) => {
    const rig = createRig(t)
    const appliance = await rig.open()
    if (operation === 'unlock') {
      await appliance.provision(PROVISIONING)
      appliance.lock()
    }
    let release = (): void => {}
    rig.pool.gate = new Promise((resolve) => {
      release = resolve
    })
    const running = settle([operation === 'unlock' ? appliance.unlock(UNLOCK) : appliance.provision(PROVISIONING)])
    await new Promise(setImmediate)
    appliance.close()
    release()
    assert.deepEqual(await running, ['unavailable'])
    assert.equal((await rig.open()).state, operation === 'unlock' ? 'Locked' : 'Unprovisioned')
  })
}

test('provisioning that fails half-way leaves the appliance Unprovisioned, on disk too', async (t) => {
  const rig = createRig(t)
  const first = await rig.open({
    firstAdministrator: async () => {
      throw new Error('no administrator')
    },
  })
  await assert.rejects(first.provision(PROVISIONING), /no administrator/)
  assert.equal(first.state, 'Unprovisioned')
  first.close()
  const second = await rig.open()
  assert.equal(second.state, 'Unprovisioned')
  await second.provision(PROVISIONING)
  assert.equal(second.state, 'Operational')
})

test('a domain that cannot be opened leaves the appliance Locked', async (t) => {
  const rig = createRig(t)
  let broken = true
  const appliance = await rig.open({
    openDomain: (records) => {
      if (broken) throw new Error('no domain')
      return new Notes(records)
    },
  })
  await assert.rejects(appliance.provision(PROVISIONING), /no domain/)
  assert.equal(appliance.state, 'Locked')
  broken = false
  await appliance.unlock(UNLOCK)
  assert.equal(appliance.open().read('admin'), 'first')
})

test('one data directory has one appliance at a time', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  const second = await rig.open()
  assert.equal(second.state, 'Failed')
  assert.match(second.failure!, /in use by another process/)
  await first.provision(PROVISIONING)
  second.close()
  first.close()
  const third = await rig.open()
  assert.equal(third.state, 'Locked')
  await third.unlock(UNLOCK)
  assert.equal(third.open().read('admin'), 'first')
})

test('the owner unlocks within three derivations of a flood, from another address and at the console', async (t) => {
  const rig = createRig(t)
  let nowMs = 0
  const limiter = createLoginLimiter(() => (nowMs += 1000)) // what holds up the flood is the queue alone
  const appliance = await rig.open({ limiter })
  await appliance.provision(PROVISIONING)
  const { scrypt } = rig.pool
  for (const rank of ['unknown', 'known', 'console'] as const) {
    appliance.lock()
    let derivations = 0
    let flooding = true
    rig.pool.scrypt = (...parameters) => {
      derivations++
      return scrypt(...parameters)
    }
    const guess = async (address: string): Promise<void> => {
      while (flooding) {
        await appliance.unlock(utf8('a wrong passphrase'), { address }).catch(() => {})
        await new Promise(setImmediate)
      }
    }
    // More of them than there are places to wait at: the owner must get one of those, too.
    const flood = Array.from({ length: 40 }, (_, n) => guess(`192.0.2.${n}`))
    while (derivations < 60) await new Promise(setImmediate)
    const before = derivations
    try {
      await appliance.unlock(UNLOCK, rank === 'console' ? CONSOLE : { address: '198.51.100.1' }) // known by the first time
      assert.ok(derivations - before <= 3, `${rank}: ${derivations - before} derivations`)
    } finally {
      flooding = false
      await Promise.all(flood)
    }
  }
})
