export async function madeBy<T>(
  work: () => T | Promise<T>,
): Promise<{ result: T; memories: Uint8Array[]; secrets: Uint8Array[] }> {
  type Exports = { memory: { buffer: ArrayBuffer } }
  const wasm = (
    globalThis as unknown as { WebAssembly: { Instance: new (...values: object[]) => { exports: Exports } } }
  ).WebAssembly
  const { Instance } = wasm
  const Buffers = globalThis.ArrayBuffer
  const [memories, secrets]: [Uint8Array[], Uint8Array[]] = [[], []]
  wasm.Instance = class extends Instance {
    constructor(...values: object[]) {
      super(...values)
      // Modules of the engine import nothing. Node makes one that does when it first reads TypeScript that is not cached.
      if (values.length === 1) memories.push(new Uint8Array(this.exports.memory.buffer))
    }
  }
  globalThis.ArrayBuffer = new Proxy(Buffers, {
    construct(target, [bytes, ...options]: [number, object?]) {
      const buffer = new target(bytes, ...options)
      if (bytes > 0) secrets.push(new Uint8Array(buffer))
      return buffer
    },
  })
  try {
    return { result: await work(), memories, secrets }
  } finally {
    wasm.Instance = Instance
    globalThis.ArrayBuffer = Buffers
  }
}
