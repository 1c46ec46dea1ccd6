/** Fills its stack with a pattern in frames of several sizes, wipes it, and tells its parent where the pattern is before and after. */

import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { wipeStack } from '../../../firmware/crypto/engine/stack.ts'
import { i32, ifThen, v128, WasmModule } from '../../../firmware/crypto/engine/wasm.ts'

export interface Left {
  /** Words with the pattern. */
  before: number
  /** Distances of words that are left, from the deepest end of the stack. */
  after: number[]
}

const DISGUISE = 0x5a5a_5a5a // no JavaScript value of this program is the pattern itself
const DISGUISED = 0x1122_3344
const FRAME_VECTORS = [3, 4, 5, 17, 40] // so that each byte is a slot of one of them
const FILLED_BYTES = 128 * 1024 // half of what is wiped
const CALLS_ABOVE = 4 // the fill begins deeper than the wipe
const ROUNDS = 100 // V8 optimizes the code after about forty

type Fill = (frames: number) => void

const fillers = FRAME_VECTORS.map((vectors): Fill => {
  const module = new WasmModule(1)
  module.define('fill', ['i32'], [], ([frames], local, self) => {
    const values = Array.from({ length: vectors }, () => local('v128'))
    return [
      ...values.map((value, k) => value.set(v128.load(0, 16 * k))),
      ifThen(frames!, [self(i32.sub(frames!, 1))]),
      ...values.map((value, k) => v128.store(0, value, 16 * k)),
    ]
  })
  const { fill, memory } = module.instantiate()
  const words = new Uint32Array(memory.buffer)
  for (let i = 0; i < words.length; i++) words[i] = DISGUISED ^ DISGUISE
  const frames = Math.floor(FILLED_BYTES / (16 * vectors + 64))
  return () => fill!(frames)
})

function fillBelow(calls: number): void {
  if (calls > 0) fillBelow(calls - 1)
  else for (const fill of fillers) fill(0)
}

function patternsInStack(): number[] {
  const line = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .find((line) => line.endsWith('[stack]'))!
  const [start, end] = line.split(/[- ]/, 2).map((address) => Number(`0x${address}`)) as [number, number]
  const words = new Uint32Array((end - start) / 4)
  const memory = openSync('/proc/self/mem', 'r')
  readSync(memory, words, 0, words.byteLength, start)
  closeSync(memory)
  const found: number[] = []
  for (let i = 0; i < words.length; i++) if ((words[i]! ^ DISGUISE) === DISGUISED) found.push(4 * i)
  return found
}

if (process.send !== undefined) {
  for (let i = 0; i < ROUNDS; i++) {
    fillBelow(CALLS_ABOVE)
    const before = patternsInStack().length
    wipeStack()
    process.send({ before, after: patternsInStack() } satisfies Left)
    await new Promise(setImmediate) // the engine takes optimized code into use
  }
  process.disconnect()
}
