/**
 * Incremental SHA-2 (FIPS 180-4) for files in a browser: WebCrypto hashes only complete messages, and a package of hashes would
 * add a tenth to the page. For public data only: no state is wiped.
 */

export type Sha2Name = 'SHA224' | 'SHA256' | 'SHA384' | 'SHA512'

export interface Hash {
  update(bytes: Uint8Array): Hash
  /** Returns the digest. The hash cannot be used afterwards. */
  digest(): Uint8Array<ArrayBuffer>
}

export function createSha2(name: Sha2Name): Hash {
  const { compress, blockBytes, initial, digestBytes } = VARIANTS[name]()
  const state = Int32Array.from(initial)
  const block = new Uint8Array(blockBytes)
  const view = new DataView(block.buffer)
  let filled = 0
  let total = 0
  const hash: Hash = {
    update(bytes) {
      total += bytes.length
      let at = 0
      if (filled > 0) {
        at = Math.min(bytes.length, blockBytes - filled)
        block.set(bytes.subarray(0, at), filled)
        filled += at
        if (filled < blockBytes) return hash
        compress(state, view, 0)
        filled = 0
      }
      const whole = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
      for (; at + blockBytes <= bytes.length; at += blockBytes) compress(state, whole, at)
      block.set(bytes.subarray(at))
      filled = bytes.length - at
      return hash
    },
    digest() {
      block[filled++] = 0x80
      if (filled > blockBytes - blockBytes / 8) {
        compress(state, view, 0, block.fill(0, filled))
        filled = 0
      }
      block.fill(0, filled)
      view.setUint32(blockBytes - 8, Math.floor((total * 8) / 2 ** 32))
      view.setUint32(blockBytes - 4, (total * 8) >>> 0)
      compress(state, view, 0)
      const result = new DataView(new ArrayBuffer(4 * state.length))
      state.forEach((word, at) => {
        result.setInt32(4 * at, word)
      })
      return new Uint8Array(result.buffer, 0, digestBytes)
    },
  }
  return hash
}

export const sha256 = (...pieces: Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const hash = createSha2('SHA256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest()
}

/** Compresses one block into `state`. A 64-bit number takes two elements, the high half first. */
type Compress = (state: Int32Array, view: DataView, at: number, filled?: unknown) => void

/** First 64 fractional bits of the square or cube roots of the first primes, as two halves each: section 4.2.3. */
function rootsOfPrimes(count: number, degree: 2n | 3n): Int32Array {
  const halves: number[] = []
  for (let candidate = 2n; halves.length < 2 * count; candidate++) {
    let isPrime = true
    for (let factor = 2n; factor * factor <= candidate; factor++) if (candidate % factor === 0n) isPrime = false
    if (!isPrime) continue
    const root = BigInt.asUintN(64, rootOf(candidate << (64n * degree), degree))
    halves.push(Number(root >> 32n) | 0, Number(root & 0xffff_ffffn) | 0)
  }
  return Int32Array.from(halves)
}

/** Floor of the root, by bisection. */
function rootOf(value: bigint, degree: bigint): bigint {
  let low = 0n
  let high = 1n << 72n // above any of a prime below 2^8, shifted
  while (high - low > 1n) {
    const middle = (low + high) >> 1n
    if (middle ** degree <= value) low = middle
    else high = middle
  }
  return low
}

const K = rootsOfPrimes(80, 3n)
const ROOTS = rootsOfPrimes(16, 2n)
const every2nd = (halves: Int32Array, first: number): Int32Array => halves.filter((_, at) => at % 2 === first)
const K_HIGH = every2nd(K, 0)

/** Sections 5.3.2 to 5.3.5. The initial values of the shorter digests are halves of those of the longer ones. */
const VARIANTS = {
  SHA224: () => ({ ...SMALL, initial: every2nd(ROOTS.subarray(16), 1), digestBytes: 28 }),
  SHA256: () => ({ ...SMALL, initial: every2nd(ROOTS.subarray(0, 16), 0), digestBytes: 32 }),
  SHA384: () => ({ ...LARGE, initial: ROOTS.subarray(16), digestBytes: 48 }),
  SHA512: () => ({ ...LARGE, initial: ROOTS.subarray(0, 16), digestBytes: 64 }),
} as const

const W = new Int32Array(160) // message schedule; shared, since a compression runs to its end before another begins

/** Section 6.2.2. */
const compress256: Compress = (state, view, at) => {
  for (let i = 0; i < 16; i++) W[i] = view.getInt32(at + 4 * i)
  for (let i = 16; i < 64; i++) {
    const x = W[i - 15]!
    const y = W[i - 2]!
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    W[i] = W[i - 16]! + s0 + W[i - 7]! + s1
  }
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + s1 + (g ^ (e & (f ^ g))) + K_HIGH[i]! + W[i]!) | 0
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

const X = new Int32Array(16) // the eight working variables; `first` says which is a
const HIGH = 2 ** 32

/** Section 6.4.2, with each number in two halves of 32 bits. */
const compress512: Compress = (state, view, at) => {
  for (let i = 0; i < 32; i++) W[i] = view.getInt32(at + 4 * i)
  for (let i = 32; i < 160; i += 2) {
    const xh = W[i - 30]!
    const xl = W[i - 29]!
    const yh = W[i - 4]!
    const yl = W[i - 3]!
    const s0h = ((xh >>> 1) | (xl << 31)) ^ ((xh >>> 8) | (xl << 24)) ^ (xh >>> 7)
    const s0l = ((xl >>> 1) | (xh << 31)) ^ ((xl >>> 8) | (xh << 24)) ^ ((xl >>> 7) | (xh << 25))
    const s1h = ((yh >>> 19) | (yl << 13)) ^ ((yl >>> 29) | (yh << 3)) ^ (yh >>> 6)
    const s1l = ((yl >>> 19) | (yh << 13)) ^ ((yh >>> 29) | (yl << 3)) ^ ((yl >>> 6) | (yh << 26))
    const low = (s0l >>> 0) + (s1l >>> 0) + (W[i - 13]! >>> 0) + (W[i - 31]! >>> 0)
    W[i] = s0h + s1h + W[i - 14]! + W[i - 32]! + Math.floor(low / HIGH)
    W[i + 1] = low
  }
  X.set(state)
  for (let i = 0; i < 160; i += 2) {
    // Instead of moving the variables, the position of the first rotates: a is at `n`, h at `n + 14`.
    const n = (160 - i) & 15
    const o = (place: number) => (n + place) & 15
    const ah = X[n]!
    const al = X[n + 1]!
    const eh = X[o(8)]!
    const el = X[o(9)]!
    const s1h = ((eh >>> 14) | (el << 18)) ^ ((eh >>> 18) | (el << 14)) ^ ((el >>> 9) | (eh << 23))
    const s1l = ((el >>> 14) | (eh << 18)) ^ ((el >>> 18) | (eh << 14)) ^ ((eh >>> 9) | (el << 23))
    const ch = X[o(12)]! ^ (eh & (X[o(10)]! ^ X[o(12)]!))
    const cl = X[o(13)]! ^ (el & (X[o(11)]! ^ X[o(13)]!))
    const t1l = (X[o(15)]! >>> 0) + (s1l >>> 0) + (cl >>> 0) + (K[i + 1]! >>> 0) + (W[i + 1]! >>> 0)
    const t1h = (X[o(14)]! + s1h + ch + K[i]! + W[i]! + Math.floor(t1l / HIGH)) | 0
    const s0h = ((ah >>> 28) | (al << 4)) ^ ((al >>> 2) | (ah << 30)) ^ ((al >>> 7) | (ah << 25))
    const s0l = ((al >>> 28) | (ah << 4)) ^ ((ah >>> 2) | (al << 30)) ^ ((ah >>> 7) | (al << 25))
    const mh = (ah & X[o(2)]!) ^ (ah & X[o(4)]!) ^ (X[o(2)]! & X[o(4)]!)
    const ml = (al & X[o(3)]!) ^ (al & X[o(5)]!) ^ (X[o(3)]! & X[o(5)]!)
    const dl = (X[o(7)]! >>> 0) + (t1l >>> 0)
    X[o(6)] = X[o(6)]! + t1h + Math.floor(dl / HIGH)
    X[o(7)] = dl
    const low = (t1l >>> 0) + (s0l >>> 0) + (ml >>> 0)
    X[o(14)] = t1h + s0h + mh + Math.floor(low / HIGH)
    X[o(15)] = low
  }
  for (let i = 14; i >= 0; i -= 2) {
    const low = (state[i + 1]! >>> 0) + (X[i + 1]! >>> 0)
    state[i] = state[i]! + X[i]! + Math.floor(low / HIGH)
    state[i + 1] = low
  }
}

const SMALL = { compress: compress256, blockBytes: 64 }
const LARGE = { compress: compress512, blockBytes: 128 }
