/**
 * A crypto worker that wipes nothing: what is searched for in the memory of others must be found in that of this one. It keeps
 * what it does not wipe, or the collector would soon give it to others, who overwrite it.
 */

export {}

const kept = new Set<ArrayBufferLike>()

const numbers = Object.getPrototypeOf(Uint8Array.prototype) as { fill: (...args: number[]) => unknown }
const { fill } = numbers
numbers.fill = function (this: Uint8Array, ...args) {
  if (args.length !== 1 || args[0] !== 0) return fill.apply(this, args)
  kept.add(this.buffer)
  return this
}

const { transfer } = ArrayBuffer.prototype
ArrayBuffer.prototype.transfer = function (length) {
  if (length !== 0) return transfer.call(this, length)
  kept.add(this)
  return new ArrayBuffer(0)
}

await import('../../firmware/crypto/pool/worker.ts')
