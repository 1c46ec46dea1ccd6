/**
 * Overwrites the stack below the caller. Compiled code spills registers to it, including adjacent limbs of secret numbers, and
 * these stay until another function uses the stack that deep.
 *
 * V8's compilers leave gaps in a frame that its code never writes: the first one four bytes beside a parameter of 32 bits, the
 * optimizing one eight bytes to align vectors. So a second pass begins half a frame deeper and writes the gaps of the first. Its
 * half frame has slots of 64 bits, which need no alignment, so that it also writes the gap of the topmost frame.
 */

import { i32, i64, ifThen, type Local, v128, WasmModule } from './wasm.ts'

const VECTOR_BYTES = 16
const WORD_BYTES = 8
const FRAME_SLOTS = 256 // far more than there are registers, so all of them are spilled across the call
const FRAMES = 64 // 256 KiB; the largest frames, of unrolled code before optimization, have about 48

export function wipeStack(): void {
  code ??= emit()
  code.wipe(FRAMES)
  code.wipeGaps(FRAMES)
}

interface StackCode {
  wipe: (frames: number) => void
  wipeGaps: (frames: number) => void
}

let code: StackCode | undefined

function emit(): StackCode {
  const module = new WasmModule(1)
  const wipe = module.define('wipe', ['i32'], [], ([frames], local, self) => {
    const zeros = slots(() => local('v128'))
    return [
      ...zeros.map((zero, k) => zero.set(v128.load(0, k * VECTOR_BYTES))),
      ifThen(frames!, [self(i32.sub(frames!, 1))]),
      ...zeros.map((zero, k) => v128.store(0, zero, k * VECTOR_BYTES)),
    ]
  })
  module.define('wipeGaps', ['i32'], [], ([frames], local) => {
    const zeros = slots(() => local('i64'))
    return [
      ...zeros.map((zero, k) => zero.set(i64.load(0, k * WORD_BYTES))),
      wipe(frames!),
      ...zeros.map((zero, k) => i64.store(0, zero, k * WORD_BYTES)),
    ]
  })
  return module.instantiate() as unknown as StackCode
}

const slots = (create: () => Local): Local[] => Array.from({ length: FRAME_SLOTS }, create)
