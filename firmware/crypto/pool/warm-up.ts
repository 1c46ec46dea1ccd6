/**
 * Warm-up of workers. First operations are slow: code is emitted, tables are computed, and the runtime optimizes functions only
 * after some calls. A worker runs these steps while it is idle.
 */

import { CURVES } from '../algorithms.ts'
import { openCurveKey } from '../ec/private-key.ts'
import type { Engine } from '../engine/engine.ts'
import { product } from '../engine/integer/arithmetic.ts'
import { systemRandom } from '../random.ts'
import type { CurveKeyType, EcKeyType, SignMode } from '../types.ts'

/** Steps in the order of expected use. Each takes some hundredths of a second at most. */
export function warmUpSteps(engine: Engine): (() => void)[] {
  return [
    ...(['EC_P256', 'Curve25519'] as const).flatMap(curveSteps),
    ...RSA_BITS.map((bits) => () => rsaStep(engine, bits)),
    ...(['EC_P384', 'EC_P521', 'EC_P256K1', 'BrainpoolP256', 'BrainpoolP384', 'BrainpoolP512'] as const).flatMap(
      curveSteps,
    ),
  ]
}

const RSA_BITS = [2048, 3072, 4096] as const

const SIGNATURES = 50 // per curve: less than a hundredth of a second once warm

function curveSteps(type: CurveKeyType): (() => void)[] {
  const sign = (mode: SignMode, count: number): void => {
    const key = openCurveKey(type, secretOne(type), systemRandom)
    const message = new Uint8Array(type === 'Curve25519' ? 32 : CURVES[type].digestBytes)
    for (let i = 0; i < count; i++) key.sign(mode, message)
    key.wipe()
  }
  const mode = type === 'Curve25519' ? 'EdDSA' : 'ECDSA'
  const steps = [() => sign(mode, 1), () => sign(mode, SIGNATURES)]
  return type === 'EC_P256K1' ? [...steps, () => sign('BIP340', SIGNATURES)] : steps
}

/** The number 1, a valid test key of every type. */
function secretOne(type: 'Curve25519' | EcKeyType): Uint8Array {
  const bytes = type === 'Curve25519' ? 32 : CURVES[type].fieldBytes
  const secret = new Uint8Array(bytes)
  secret[bytes - 1] = 1
  return secret
}

/** Uses numbers that are no valid key, which the arithmetic accepts. */
function rsaStep(engine: Engine, bits: number): void {
  const p = new Uint8Array(bits / 16).fill(0xff)
  const q = p.with(p.length - 1, 0xfd)
  const arithmetic = engine.openRsa({ n: product(p, q), p, q, dp: p, dq: q, qinv: q })
  arithmetic.use(() => {
    let number = arithmetic.enter(p)
    for (let i = 0; i < 2; i++) {
      number = arithmetic.privatePower(number)
      number = arithmetic.publicPower(arithmetic.multiply(number, number), Uint8Array.of(1, 0, 1))
    }
    arithmetic.leave(number)
  })
  arithmetic.wipe()
}
