/** When the TPM gives a sealed secret out, when it does not, and what can be heard of it on the way. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { MalformedError } from '../../../boot/tpm/bytes.ts'
import type { Tpm } from '../../../boot/tpm/command.ts'
import { TpmError } from '../../../boot/tpm/error.ts'
import { extendRegister, type Registers, readRegisters } from '../../../boot/tpm/registers.ts'
import { evict, nameUnder, unseal } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { HANDLE, keep, makeRig, onTpm } from './rig.ts'
import { toolsFor } from './tools.ts'

const ZERO = new Uint8Array(32)
const FRESH: Registers = new Map([
  [7, ZERO],
  [12, ZERO],
])
const open = (tpm: Tpm, name: Uint8Array, registers = FRESH) =>
  withStorageKey(tpm, (key) => unseal(tpm, key, { handle: HANDLE, name }, { registers }))
const refusedAs = (response: string) => (error: unknown) => error instanceof TpmError && error.response === response

test('a secret of any length that is allowed comes back, also after a power cycle', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  for (const bytes of [1, 32, 127, 128]) {
    const secret = randomBytes(bytes)
    const { name } = use((tpm) => keep(tpm, secret, FRESH))
    for (let start = 0; start < 2; start++) {
      assert.deepEqual(Buffer.from(use((tpm) => open(tpm, name))), secret)
      await swtpm.restart()
    }
    use((tpm) => evict(tpm, HANDLE))
  }
  assert.throws(() => use((tpm) => keep(tpm, randomBytes(129), FRESH)), refusedAs('size'))
})

test('a register that holds something else keeps it closed until the next start of the machine', onTpm(), async (t) => {
  for (const register of [7, 12]) {
    const { swtpm, use } = await makeRig(t)
    const secret = randomBytes(32)
    const { name } = use((tpm) => keep(tpm, secret, FRESH))
    use((tpm) => extendRegister(tpm, register, ZERO))
    const now = use((tpm) => readRegisters(tpm, [7, 12]))
    assert.notDeepEqual(now.get(register), ZERO)
    assert.throws(() => use((tpm) => open(tpm, name)), refusedAs('value'), 'the values it was sealed to')
    assert.throws(() => use((tpm) => open(tpm, name, now)), refusedAs('policyFail'), 'the values there are')
    assert.throws(() => use((tpm) => open(tpm, name, new Map([[3, ZERO]]))), refusedAs('policyFail'), 'others')
    await swtpm.restart()
    assert.deepEqual(Buffer.from(use((tpm) => open(tpm, name))), secret)
  }
})

test('once evicted it is gone', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const { name } = use((tpm) => keep(tpm, randomBytes(32), FRESH))
  use((tpm) => {
    assert.deepEqual(nameUnder(tpm, HANDLE), name)
    evict(tpm, HANDLE)
    assert.equal(nameUnder(tpm, HANDLE), null)
    assert.throws(() => open(tpm, name), refusedAs('handle'))
    assert.throws(() => evict(tpm, HANDLE), refusedAs('handle'))
  })
})

test('another TPM has another storage key, and none of what this one keeps', onTpm(), async (t) => {
  const [one, other] = [await makeRig(t), await makeRig(t)]
  const { name } = one.use((tpm) => keep(tpm, randomBytes(32), FRESH))
  const storageKeys = [one, other].map(({ use }) => use((tpm) => withStorageKey(tpm, (key) => key.name)))
  assert.notDeepEqual(storageKeys[0], storageKeys[1])
  assert.throws(() => other.use((tpm) => open(tpm, name)), refusedAs('handle'))
})

test('a copy of the whole TPM opens it: the binding is to what the TPM holds', onTpm(), async (t) => {
  const state = mkdtempSync(join(tmpdir(), 'coffer-tpm-state-'))
  t.after(() => rmSync(state, { recursive: true }))
  const one = await makeRig(t, state)
  const secret = randomBytes(32)
  const { name } = one.use((tpm) => keep(tpm, secret, FRESH))
  await one.swtpm.restart()
  assert.deepEqual(Buffer.from(one.use((tpm) => open(tpm, name))), secret)
})

test('another object under the handle is not taken for the sealed one', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const { name } = use((tpm) => keep(tpm, randomBytes(32), FRESH))
  use((tpm) => evict(tpm, HANDLE))
  use((tpm) => keep(tpm, randomBytes(32), FRESH))
  assert.throws(() => use((tpm) => open(tpm, name)), refusedAs('badAuth'), 'the HMAC covers the name')
})

test('a hundred refusals lock nothing, and leave nothing in the memory of the TPM', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const secret = randomBytes(32)
  const { name } = use((tpm) => keep(tpm, secret, FRESH))
  use((tpm) => {
    for (let i = 0; i < 50; i++) {
      assert.throws(() => open(tpm, name, new Map([[12, randomBytes(32)]])), refusedAs('value'))
      assert.throws(() => open(tpm, name, new Map([[12, ZERO]])), refusedAs('policyFail'))
    }
    assert.deepEqual(Buffer.from(open(tpm, name)), secret)
  })
  const tools = toolsFor(t, swtpm)
  assert.equal(tools.run('tpm2_getcap', 'handles-transient'), '')
  assert.equal(tools.run('tpm2_getcap', 'handles-loaded-session'), '')
  assert.match(tools.run('tpm2_getcap', 'properties-variable'), /TPM2_PT_LOCKOUT_COUNTER: 0x0\n/)
})

test('a listener on the bus hears no secret', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const heard: Buffer[] = []
  const listen = (transport: Transport): Transport => ({
    ...transport,
    transmit: (command) => {
      const response = transport.transmit(command)
      heard.push(Buffer.from(command), Buffer.from(response))
      return response
    },
  })
  const secret = randomBytes(32)
  const { name } = use((tpm) => keep(tpm, secret, FRESH), listen)
  assert.deepEqual(Buffer.from(use((tpm) => open(tpm, name), listen)), secret)
  const bus = Buffer.concat(heard)
  assert.ok(bus.includes(Buffer.from(name)), 'what is public is heard')
  for (let offset = 0; offset + 4 <= secret.length; offset++)
    assert.ok(!bus.includes(Buffer.from(secret.subarray(offset, offset + 4))), `four bytes at ${offset}`)
})

test('a changed response gives an error, never another secret', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const secret = randomBytes(32)
  const { name } = use((tpm) => keep(tpm, secret, FRESH))
  const UNSEAL = 0x15e
  let changed: number | null = null
  let length = 0
  const change = (transport: Transport): Transport => ({
    ...transport,
    transmit: (command) => {
      const response = transport.transmit(command)
      if (changed === null || Buffer.from(command).readUInt32BE(6) !== UNSEAL) return response
      length = response.length
      response[changed]! ^= 1
      return response
    },
  })
  use((tpm) => {
    changed = 0
    assert.throws(() => open(tpm, name), MalformedError)
    assert.ok(length > 80, `an answer of ${length} bytes`)
    for (changed = 1; changed < length; changed++)
      assert.throws(
        () => open(tpm, name),
        (error) => error instanceof MalformedError || error instanceof TpmError,
        `byte ${changed}`,
      )
    changed = null
    assert.deepEqual(Buffer.from(open(tpm, name)), secret)
  }, change)
})
