/**
 * The stack below the caller, overwritten. Compiled code keeps on it what finds no room in registers, limbs of secret numbers
 * side by side, and what a function leaves there stays until another one comes that deep.
 */

import { type Code, i32, ifThen, v128, WasmModule } from './wasm.ts'

const VECTOR_BYTES = 16
const FRAME_VECTORS = 256 // far more than there are registers: all of them are on the stack while the function calls itself
const FRAMES = 64 // 256 KiB; the largest frames, of straight code before it is optimised, have some 48

export function wipeStack(): void {
  wipe ??= emit()
  wipe(FRAMES)
}

let wipe: ((frames: number) => void) | undefined

function emit(): (frames: number) => void {
  const module = new WasmModule(1)
  module.define('wipe', ['i32'], [], ([frames], local, self) => {
    const zeros = Array.from({ length: FRAME_VECTORS }, () => local('v128'))
    const each = (work: (k: number) => Code): Code[] => zeros.map((_, k) => work(k))
    return [
      ...each((k) => zeros[k]!.set(v128.load(0, k * VECTOR_BYTES))),
      ifThen(frames!, [self(i32.sub(frames!, 1))]),
      ...each((k) => v128.store(0, zeros[k]!, k * VECTOR_BYTES)),
    ]
  })
  return module.instantiate().wipe as (frames: number) => void
}
