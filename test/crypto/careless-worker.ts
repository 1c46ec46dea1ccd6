/** A crypto worker that wipes nothing: what is searched for in the memory of others must be found in that of this one. */

export {}

const numbers = Object.getPrototypeOf(Uint8Array.prototype) as { fill: (...args: number[]) => unknown }
const { fill } = numbers
numbers.fill = function (...args) {
  return args.length === 1 && args[0] === 0 ? this : fill.apply(this, args)
}

await import('../../firmware/crypto/pool/worker.ts')
