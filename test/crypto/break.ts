/** Breaks the arithmetic of a curve so that no check of it notices: wrong signatures would leave. */

import { products } from '../../firmware/crypto/engine/choice.ts'
import { BasePoint } from '../../firmware/crypto/engine/float/base-point.ts'
import { basePoint } from '../../firmware/crypto/engine/float/curves.ts'
import type { CurveKeyType } from '../../firmware/crypto/types.ts'

/** A bit of all that is reduced modulo its order is wrong from now on. Mends it again. */
export function breakCurve(type: CurveKeyType): () => void {
  const { reduce } = BasePoint.prototype
  BasePoint.prototype.reduce = function (this: BasePoint, number) {
    const reduced = reduce.call(this, number)
    if (this === basePoint(type, products)) reduced[reduced.length - 1]! ^= 1
    return reduced
  }
  return () => {
    BasePoint.prototype.reduce = reduce
  }
}
