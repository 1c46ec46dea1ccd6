/**
 * Overwrites the stack below the caller. Compiled code spills registers to it, including adjacent limbs of secret numbers, and
 * these stay until another function uses the stack that deep.
 */

import { type Code, i32, ifThen, v128, WasmModule } from './wasm.ts'

const VECTOR_BYTES = 16
const FRAME_VECTORS = 256 // far more than there are registers, so all of them are spilled across the recursive call
const FRAMES = 64 // 256 KiB; the largest frames, of unrolled code before optimization, have about 48

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
