import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MalformedError, readerOf } from '../../../boot/tpm/bytes.ts'
import { createTpm, type Tpm } from '../../../boot/tpm/command.ts'
import { TpmError } from '../../../boot/tpm/error.ts'
import { randomOf } from '../../../boot/tpm/random.ts'
import { readRegisters } from '../../../boot/tpm/registers.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { makeRig, onTpm } from './rig.ts'

const interfere =
  (answer: (command: Uint8Array, respond: () => Uint8Array) => Uint8Array) =>
  (transport: Transport): Transport => ({
    ...transport,
    transmit: (command) => answer(command, () => transport.transmit(command)),
  })

const refusal = (code: number) => {
  const response = Buffer.from('80010000000a00000000', 'hex')
  response.writeUInt32BE(code, 6)
  return new Uint8Array(response)
}

test('a TPM that is busy is asked again', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  for (const busy of [0x908, 0x90a, 0x922]) {
    let asked = 0
    const twice = interfere((_, respond) => (++asked < 3 ? refusal(busy) : respond()))
    assert.equal(use((tpm) => randomOf(tpm, 32), twice).length, 32)
    assert.equal(asked, 3)
  }
})

test('a TPM that stays busy is given up, and one that refuses is not asked again', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  for (const [code, response, times] of [
    [0x922, 'retry', 60],
    [0x921, 'lockout', 1],
    [0x101, 'failure', 1],
    [0x185, 'hierarchy', 1],
    [0x9ff, undefined, 1],
  ] as const) {
    let asked = 0
    const always = interfere(() => {
      asked++
      return refusal(code)
    })
    assert.throws(
      () => use((tpm) => randomOf(tpm, 8), always),
      (error) => error instanceof TpmError && error.response === response && error.code === code,
    )
    assert.equal(asked, times)
  }
})

test('a response cut short or too long is refused, wherever', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const work: Record<string, (tpm: Tpm) => void> = {
    registers: (tpm) => readRegisters(tpm, [7, 12]),
    'a key': (tpm) => withStorageKey(tpm, () => {}),
    'random bytes': (tpm) => randomOf(tpm, 16),
  }
  for (const [what, run] of Object.entries(work)) {
    let whole: Uint8Array | null = null
    use(
      run,
      interfere((_, respond) => {
        const response = respond()
        whole ??= response
        return response
      }),
    )
    const { length } = whole!
    for (let cut = 0; cut < length; cut += cut < 24 ? 1 : 7) {
      const short = Buffer.from(whole!.slice(0, cut))
      if (cut >= 6) short.writeUInt32BE(cut, 2) // as if it had meant to be this short
      assert.throws(
        () => run(createTpm({ transmit: () => new Uint8Array(short), close: () => {} })),
        MalformedError,
        `${what} of ${length} bytes cut to ${cut}`,
      )
    }
    const long = Uint8Array.from([...whole!, 0])
    assert.throws(() => run(createTpm({ transmit: () => long, close: () => {} })), MalformedError)
  }
})

test('a TPM without SHA-256 registers is told apart from one with them', onTpm(), async (t) => {
  const { use } = await makeRig(t)
  const none = Buffer.from('80010000001c00000000' + '00000001' + '00000001000b03000000' + '00000000', 'hex')
  assert.throws(
    () =>
      use(
        (tpm) => readRegisters(tpm, [7]),
        interfere(() => new Uint8Array(none)),
      ),
    /no SHA-256 registers/,
  )
})

test('a reader gives copies and never reads past the end', () => {
  const source = Uint8Array.of(0, 2, 7, 8, 9)
  const reader = readerOf(source)
  const first = reader.sized()
  assert.deepEqual(first, Uint8Array.of(7, 8))
  assert.throws(() => reader.end(), MalformedError)
  assert.throws(() => reader.u16(), MalformedError)
  assert.throws(() => reader.bytes(2), MalformedError)
  assert.equal(reader.u8(), 9)
  reader.end()
  reader.wipe()
  assert.deepEqual(source, new Uint8Array(5))
  assert.deepEqual(first, Uint8Array.of(7, 8))
})
