// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  i32,
  i64,
  ifThen,
  memoryCopy,
  memoryFill,
  repeatWhile,
  unsigned,
  WasmModule,
} from '../../../firmware/crypto/engine/wasm.ts'

test('encodes unsigned LEB128 at its length boundaries', () => {
  assert.deepEqual(unsigned(0), [0])
  assert.deepEqual(unsigned(127), [127])
  assert.deepEqual(unsigned(128), [0x80, 1])
  assert.deepEqual(unsigned(624485), [0xe5, 0x8e, 0x26])
  assert.deepEqual(unsigned(0xffffffff), [0xff, 0xff, 0xff, 0xff, 0x0f])
})

test('constants survive for every sign and length', () => {
  const values = [0n, 63n, 64n, -64n, -65n, 0x7fffffffn, -0x80000000n, 0x7fffffffffffffffn, -0x8000000000000000n]
  for (const value of values) {
    const module = new WasmModule(1)
    module.define('long', [], ['i64'], () => [i64.or(value, 0)])
    module.define('short', [], ['i32'], () => [i32.or(value, 0)])
    const { long, short } = module.instantiate()
    assert.equal(long!(), value)
    assert.equal(short!(), Number(BigInt.asIntN(32, value)))
  }
})

test('loops, locals, calls, branches and memory work together', () => {
  const module = new WasmModule(1)
  const square = module.define('square', ['i64'], ['i64'], ([x]) => [i64.mul(x!, x!)])
  module.define('sumOfSquares', ['i32'], ['i64'], ([count], local) => {
    const sum = local('i64')
    return [
      repeatWhile(
        [sum.set(i64.add(sum, square(i64.extendI32U(count!)))), count!.set(i32.sub(count!, 1))],
        i32.ne(count!, 0),
      ),
      sum.get,
    ]
  })
  module.define('spread', ['i32'], [], ([value]) => [
    memoryFill(0, value!, 8),
    memoryCopy(32, 0, 8),
    ifThen(i32.eq(value!, 7), [i64.store(0, -2, 64), i64.store32(0, -1, 72), i32.store8(0, 0x1ff, 80)]),
  ])
  const exports = module.instantiate()
  assert.equal(exports.sumOfSquares!(1000), 333833500n)
  exports.spread!(5)
  assert.deepEqual([...new Uint8Array(exports.memory.buffer, 31, 10)], [0, 5, 5, 5, 5, 5, 5, 5, 5, 0])
  assert.equal(new Uint8Array(exports.memory.buffer)[64], 0)
  exports.spread!(7)
  assert.equal(new DataView(exports.memory.buffer).getBigInt64(64, true), -2n)
  assert.equal(new DataView(exports.memory.buffer).getBigInt64(72, true), 0xffffffffn)
  assert.equal(new DataView(exports.memory.buffer).getBigInt64(80, true), 0xffn)
})

test('the memory has the pages asked for and cannot grow', () => {
  const { memory } = new WasmModule(3).instantiate()
  assert.equal(memory.buffer.byteLength, 3 * 65536)
  assert.throws(() => (memory as unknown as { grow(pages: number): void }).grow(1), RangeError)
})

test('refuses a call with the wrong number of operands', () => {
  const callee = new WasmModule(1).define('two', ['i32', 'i32'], [], () => [])
  assert.throws(() => callee(1), /two takes 2 operands/)
})
