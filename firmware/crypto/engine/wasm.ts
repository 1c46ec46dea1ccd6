/** A small assembler for WebAssembly modules: turns nested expressions into bytes. WebAssembly Core Specification, chapter 5. */

type ValueType = 'i32' | 'i64' | 'f64' | 'v128'

/** Encoded instructions, as a tree until they are written. As an operand: code that leaves its value on the stack. */
export type Code = Uint8Array | readonly (number | Code)[]

/** A number is a constant of the type that the instruction expects. */
export type Operand = Code | Local | number | bigint

export class Local {
  readonly get: Code
  readonly #type: ValueType
  readonly #index: Code

  constructor(type: ValueType, index: number) {
    this.#type = type
    this.#index = unsigned(index)
    this.get = [0x20, this.#index]
  }

  set(value: Operand): Code {
    return [lower(value, this.#type), 0x21, this.#index]
  }

  /** Sets the local and leaves the value on the stack. */
  tee(value: Operand): Code {
    return [lower(value, this.#type), 0x22, this.#index]
  }
}

/** Exports of an instance. An i64 result arrives as a bigint: do not return secrets as i64. */
export type WasmExports = Record<string, (...values: number[]) => number | bigint | undefined> & {
  readonly memory: { readonly buffer: ArrayBuffer }
}

/** Calls a defined function. Operands have the types of its parameters. */
export type Callee = (...operands: Operand[]) => Code

export type NewLocal = (type: ValueType) => Local

/** A module with one memory, exported as `memory`, and functions, exported by name. */
export class WasmModule {
  readonly #memoryPages: number
  readonly #types: Code[] = []
  readonly #exports: Code[] = []
  readonly #bodies: Code[] = []

  /** A page has 64 KiB; the memory cannot grow. */
  constructor(memoryPages: number) {
    this.#memoryPages = memoryPages
    this.#exports.push([name('memory'), 0x02, 0x00])
  }

  /** Adds a function. Returns its callee, which the function itself may use, too. `body` receives one local per parameter. */
  define(
    exported: string,
    parameters: readonly ValueType[],
    results: readonly ValueType[],
    body: (parameters: readonly Local[], local: NewLocal, self: Callee) => readonly Code[],
  ): Callee {
    const index = unsigned(this.#bodies.length)
    const locals: Code[] = []
    const local: NewLocal = (type) => {
      locals.push([0x01, VALUE_TYPES[type]])
      return new Local(type, parameters.length + locals.length - 1)
    }
    const self: Callee = (...operands) => {
      if (operands.length !== parameters.length) throw new Error(`${exported} takes ${parameters.length} operands`)
      return [...operands.map((operand, i) => lower(operand, parameters[i]!)), 0x10, index]
    }
    const code = body(
      parameters.map((type, i) => new Local(type, i)),
      local,
      self,
    )
    this.#types.push([0x60, vector(parameters.map(valueType)), vector(results.map(valueType))])
    this.#exports.push([name(exported), 0x00, index])
    this.#bodies.push(sized([vector(locals), code, 0x0b]))
    return self
  }

  instantiate(): WasmExports {
    return this.compile()()
  }

  /** Returns a function that creates instances of the same code, each with its own memory. */
  compile(): () => WasmExports {
    const compiled = new WebAssembly.Module(this.encode())
    return () => new WebAssembly.Instance(compiled).exports
  }

  encode(): Uint8Array<ArrayBuffer> {
    const pages = unsigned(this.#memoryPages)
    return bytesOf([
      [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
      section(1, this.#types),
      section(
        3,
        this.#bodies.map((_, i) => unsigned(i)),
      ),
      section(5, [[0x01, pages, pages]]),
      section(7, this.#exports),
      section(10, this.#bodies),
    ])
  }
}

/** Operands, then an opcode with its immediates. For instructions without a function below. */
export function instruction(type: ValueType, operands: readonly Operand[], ...opcode: number[]): Code {
  return [...operands.map((operand) => lower(operand, type)), opcode]
}

export const i32 = {
  load: load(0x28),
  load16U: load(0x2f),
  store: store('i32', 0x36),
  store8: store('i32', 0x3a),
  eqz: unary('i32', 0x45),
  eq: binary('i32', 0x46),
  ne: binary('i32', 0x47),
  ltU: binary('i32', 0x49),
  gtU: binary('i32', 0x4b),
  add: binary('i32', 0x6a),
  sub: binary('i32', 0x6b),
  mul: binary('i32', 0x6c),
  and: binary('i32', 0x71),
  or: binary('i32', 0x72),
  xor: binary('i32', 0x73),
  shl: binary('i32', 0x74),
  shrS: binary('i32', 0x75),
  shrU: binary('i32', 0x76),
  wrapI64: unary('i64', 0xa7),
} as const

export const i64 = {
  load: load(0x29),
  load32S: load(0x34),
  load32U: load(0x35),
  store: store('i64', 0x37),
  store32: store('i64', 0x3e),
  add: binary('i64', 0x7c),
  sub: binary('i64', 0x7d),
  mul: binary('i64', 0x7e),
  and: binary('i64', 0x83),
  or: binary('i64', 0x84),
  xor: binary('i64', 0x85),
  shl: binary('i64', 0x86),
  shrS: binary('i64', 0x87),
  shrU: binary('i64', 0x88),
  rotl: binary('i64', 0x89),
  rotr: binary('i64', 0x8a),
  extendI32S: unary('i32', 0xac),
  extendI32U: unary('i32', 0xad),
  reinterpretF64: unary('f64', 0xbd),
} as const

export const f64 = {
  load: load(0x2b),
  store: store('f64', 0x39),
  add: binary('f64', 0xa0),
  sub: binary('f64', 0xa1),
  reinterpretI64: unary('i64', 0xbf),
} as const

export const v128 = {
  load: vectorLoad(0),
  store: vectorStore(11),
  /** Loads the first lane and sets the second to zero. */
  load64Zero: vectorLoad(93),
  and: vectors(78),
  /** a and not b. */
  andnot: vectors(79),
  or: vectors(80),
  xor: vectors(81),
  /** i32: 1 unless all bits are zero. */
  anyTrue: (a: Operand): Code => instruction('v128', [a], 0xfd, 83),
  constant: (low: bigint, high = low): Code => [0xfd, 0x0c, bytes64(low), bytes64(high)],
} as const

export const i8x16 = {
  /** Selects bytes by index; those of b begin at 16. */
  shuffle: (a: Operand, bytes: readonly number[], b = a): Code => instruction('v128', [a, b], 0xfd, 13, ...bytes),
} as const

export const i32x4 = {
  splat: (a: Operand): Code => instruction('i32', [a], 0xfd, 17),
  constant: (a: number, b = a, c = a, d = b): Code => [0xfd, 0x0c, new Uint8Array(Int32Array.of(a, b, c, d).buffer)],
  eq: vectors(55),
  ne: vectors(56),
  gtS: vectors(59),
  abs: vectorsOne(160),
  shl: shift(171),
  shrS: shift(172),
  shrU: shift(173),
  add: vectors(174),
  sub: vectors(177),
  mul: vectors(181),
} as const

export const i64x2 = {
  splat: (a: Operand): Code => instruction('i64', [a], 0xfd, 18),
  extractLane: (a: Operand, lane: number): Code => instruction('v128', [a], 0xfd, 29, lane),
  shl: shift(203),
  shrU: shift(205),
  add: vectors(206),
  sub: vectors(209),
  eq: vectors(214),
} as const

export const f64x2 = {
  convertLowI32x4: vectorsOne(254),
  add: vectors(240),
  sub: vectors(241),
  mul: vectors(242),
  /** a * b + c, rounded once or twice depending on the processor: WebAssembly relaxed SIMD. */
  relaxedMadd: (a: Operand, b: Operand, c: Operand): Code => instruction('v128', [a, b, c], 0xfd, ...unsigned(0x107)),
} as const

/** Runs the body once, then repeats it while the condition, an i32, is not zero. */
export function repeatWhile(body: readonly Code[], condition: Code): Code {
  return [0x03, 0x40, body, condition, 0x0d, 0x00, 0x0b]
}

/** The condition must not be secret. */
export function ifThen(condition: Operand, body: readonly Code[]): Code {
  return [lower(condition, 'i32'), 0x04, 0x40, body, 0x0b]
}

export function memoryFill(address: Operand, value: Operand, bytes: Operand): Code {
  return [lower(address, 'i32'), lower(value, 'i32'), lower(bytes, 'i32'), 0xfc, 0x0b, 0x00]
}

/** The ranges may overlap. */
export function memoryCopy(to: Operand, from: Operand, bytes: Operand): Code {
  return [lower(to, 'i32'), lower(from, 'i32'), lower(bytes, 'i32'), 0xfc, 0x0a, 0x00, 0x00]
}

/** Unsigned LEB128. */
export function unsigned(value: number): readonly number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  return [...bytes, rest]
}

/** The part of the JavaScript interface in use. TypeScript's standard library declares it only for browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  Instance: new (module: object) => { exports: WasmExports }
}

const VALUE_TYPES: Record<ValueType, number> = { i32: 0x7f, i64: 0x7e, f64: 0x7c, v128: 0x7b }

const valueType = (type: ValueType): Code => [VALUE_TYPES[type]]
const vector = (items: readonly Code[]): Code => [unsigned(items.length), items]
const section = (id: number, items: readonly Code[]): Code => [id, sized(vector(items))]
const name = (text: string): Code => sized(new TextEncoder().encode(text))

function sized(content: Code): Code {
  const bytes = bytesOf(content)
  return [unsigned(bytes.length), bytes]
}

function bytesOf(code: Code): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(lengthOf(code))
  write(code, bytes, 0)
  return bytes
}

function lengthOf(code: Code): number {
  if (code instanceof Uint8Array) return code.length
  let length = 0
  for (const part of code) length += typeof part === 'number' ? 1 : lengthOf(part)
  return length
}

/** Returns the end of the written bytes. */
function write(code: Code, bytes: Uint8Array, at: number): number {
  if (code instanceof Uint8Array) {
    bytes.set(code, at)
    return at + code.length
  }
  let end = at
  for (const part of code) {
    if (typeof part === 'number') bytes[end++] = part
    else end = write(part, bytes, end)
  }
  return end
}

function lower(operand: Operand, type: ValueType): Code {
  if (operand instanceof Local) return operand.get
  if (typeof operand === 'object') return operand
  if (type === 'i32') return [0x41, signed(BigInt.asIntN(32, BigInt(operand)))]
  if (type === 'i64') return [0x42, signed(BigInt.asIntN(64, BigInt(operand)))]
  if (type === 'f64') return [0x44, new Uint8Array(Float64Array.of(Number(operand)).buffer)]
  throw new Error('a vector constant has no number')
}

function signed(value: bigint): Code {
  const bytes: number[] = []
  let rest = value
  while (rest < -0x40n || rest >= 0x40n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return [...bytes, Number(rest & 0x7fn)]
}

function unary(type: ValueType, opcode: number) {
  return (a: Operand): Code => instruction(type, [a], opcode)
}

function binary(type: ValueType, opcode: number) {
  return (a: Operand, b: Operand): Code => instruction(type, [a, b], opcode)
}

/** The alignment hint is always one byte: it has no effect on the supported processors. */
function load(opcode: number) {
  return (address: Operand, offset = 0): Code => [lower(address, 'i32'), opcode, 0x00, unsigned(offset)]
}

function store(type: ValueType, opcode: number) {
  return (address: Operand, value: Operand, offset = 0): Code => [
    lower(address, 'i32'),
    lower(value, type),
    opcode,
    0x00,
    unsigned(offset),
  ]
}

function vectors(opcode: number) {
  return (a: Operand, b: Operand): Code => instruction('v128', [a, b], 0xfd, ...unsigned(opcode))
}

function vectorsOne(opcode: number) {
  return (a: Operand): Code => instruction('v128', [a], 0xfd, ...unsigned(opcode))
}

function shift(opcode: number) {
  return (a: Operand, bits: Operand): Code => [lower(a, 'v128'), lower(bits, 'i32'), 0xfd, unsigned(opcode)]
}

function vectorLoad(opcode: number) {
  return (address: Operand, offset = 0): Code => [lower(address, 'i32'), 0xfd, opcode, 0x00, unsigned(offset)]
}

function vectorStore(opcode: number) {
  return (address: Operand, value: Operand, offset = 0): Code => [
    lower(address, 'i32'),
    lower(value, 'v128'),
    0xfd,
    opcode,
    0x00,
    unsigned(offset),
  ]
}

function bytes64(value: bigint): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt.asUintN(64, value)).buffer)
}
