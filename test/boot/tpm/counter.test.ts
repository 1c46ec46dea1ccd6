/** Counters in the TPM, beside tpm2-tools on the same one: they only go up, and a secret can be bound to one. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { MalformedError } from '../../../boot/tpm/bytes.ts'
import type { Entity, Tpm } from '../../../boot/tpm/command.ts'
import {
  counterUnder,
  makeCounter,
  raiseCounter,
  readCounter,
  removeCounter,
  withCounter,
} from '../../../boot/tpm/counter.ts'
import { TpmError } from '../../../boot/tpm/error.ts'
import { policyOf, type Registers, readRegisters } from '../../../boot/tpm/registers.ts'
import { unseal } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { keep, makeRig, onTpm } from './rig.ts'
import { toolsFor } from './tools.ts'

const INDEX = 0x01830001
const INDEX_TEXT = `0x${INDEX.toString(16)}`
const FRESH: Registers = new Map([7, 15].map((register) => [register, new Uint8Array(32)]))
const NV_READ = 0x14e

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const read = (tpm: Tpm) => withStorageKey(tpm, (key) => readCounter(tpm, key, counterUnder(INDEX)))
const open = (tpm: Tpm, sealed: Entity, counter?: Entity) =>
  withStorageKey(tpm, (key) => unseal(tpm, key, sealed, { registers: FRESH, counter }))
const refusedAs = (response: string) => (error: unknown) => error instanceof TpmError && error.response === response

test('it goes up by one, stays over a power cycle, and is what tpm2-tools read', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  const first = use((tpm) => {
    makeCounter(tpm, INDEX)
    return read(tpm)
  })
  const toolRead = () => BigInt(`0x${hex(tools.read('value'))}`)
  for (let raised = 0; raised < 3; raised++) {
    assert.equal(use(read), first + 2 * raised)
    tools.run('tpm2_nvread', '-C', INDEX_TEXT, INDEX_TEXT, '-o', '@value')
    assert.equal(toolRead(), BigInt(first + 2 * raised))
    use((tpm) => raiseCounter(tpm, counterUnder(INDEX)))
    tools.run('tpm2_nvincrement', '-C', INDEX_TEXT, INDEX_TEXT)
    await swtpm.restart()
  }
  const shown = tools.run('tpm2_nvreadpublic', INDEX_TEXT)
  assert.match(shown, new RegExp(`name: ${hex(counterUnder(INDEX).name)}`))
  assert.match(shown, /friendly: authwrite\|nt=0x1\|authread\|no_da\|written\n/)
})

test('removed and made again it begins above all that it had', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  let highest = 0
  for (let made = 0; made < 3; made++) {
    use((tpm) => makeCounter(tpm, INDEX)) // in the place of the one before
    const value = use(read)
    assert.ok(value > highest, `${value} after ${highest}`)
    use((tpm) => raiseCounter(tpm, counterUnder(INDEX)))
    highest = use(read)
  }
  use((tpm) => {
    removeCounter(tpm, INDEX)
    removeCounter(tpm, INDEX)
    assert.throws(() => read(tpm), refusedAs('handle'))
  })
})

test('what is bound to it opens while it is there, and to nobody who does not know of it', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const secret = randomBytes(32)
  const sealed = use((tpm) => keep(tpm, secret, FRESH, makeCounter(tpm, INDEX)))
  const counter = counterUnder(INDEX)
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(Buffer.from(use((tpm) => open(tpm, sealed, counter))), secret)
    assert.throws(() => use((tpm) => open(tpm, sealed)), refusedAs('policyFail'), 'as versions before opened it')
    use((tpm) => raiseCounter(tpm, counter))
    await swtpm.restart()
  }
  use((tpm) => {
    const other = makeCounter(tpm, INDEX + 1)
    assert.throws(() => open(tpm, sealed, other), refusedAs('policyFail'), 'with another one')
    removeCounter(tpm, INDEX)
    assert.throws(() => open(tpm, sealed, counter), refusedAs('handle'))
  })
})

test('the policy is the one that tpm2-tools compute', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  const counter = use((tpm) => makeCounter(tpm, INDEX))
  tools.write('zero', new Uint8Array(8))
  tools.run('tpm2_startauthsession', '-S', '@session')
  tools.run('tpm2_policypcr', '-Q', '-S', '@session', '-l', 'sha256:7,15')
  tools.run(
    'tpm2_policynv',
    '-Q',
    '-S',
    '@session',
    '-C',
    INDEX_TEXT,
    '-i',
    '@zero',
    '-L',
    '@policy',
    INDEX_TEXT,
    'uge',
  )
  tools.run('tpm2_flushcontext', '@session')
  const registers = use((tpm) => readRegisters(tpm, [7, 15]))
  assert.equal(hex(withCounter(policyOf(registers), counter)), hex(tools.read('policy')))
})

test('a value that was changed on the bus, or is of an earlier answer, is found out', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  use((tpm) => makeCounter(tpm, INDEX))
  const answers: Uint8Array[] = []
  /** Hands each answer to NV_Read to `change`. */
  const between =
    (change: (answer: Uint8Array) => Uint8Array) =>
    (transport: Transport): Transport => ({
      ...transport,
      transmit: (command) => {
        const answer = transport.transmit(command)
        return Buffer.from(command).readUInt32BE(6) === NV_READ ? change(answer) : answer
      },
    })
  use(
    read,
    between((answer) => {
      answers.push(answer)
      return answer
    }),
  )
  assert.equal(answers.length, 1)
  use((tpm) => raiseCounter(tpm, counterUnder(INDEX)))
  assert.throws(
    () =>
      use(
        read,
        between(() => answers[0]!),
      ),
    MalformedError,
  )
  const value = 10 + 4 + 2 // after header, size of the parameters, and size of the value
  for (let at = value; at < value + 8; at++) {
    const flip = (answer: Uint8Array) => answer.with(at, answer[at]! ^ 1)
    assert.throws(() => use(read, between(flip)), MalformedError)
  }
})
