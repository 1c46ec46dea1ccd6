/** Which shared libraries a program asks for: the DT_NEEDED entries of a 64-bit little-endian ELF file, elf(5). */

const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]) // ELF, 64 bits, little-endian
const SEGMENT_BYTES = 56
const DYNAMIC_BYTES = 16
const PT_LOAD = 1
const PT_DYNAMIC = 2
const DT_NEEDED = 1
const DT_STRTAB = 5

/** Null for what is no such file (a script, a table); empty for a static program. */
export function neededLibraries(file: Buffer): string[] | null {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return null
  const table = number(file, 0x20)
  const segments = Array.from({ length: file.readUInt16LE(0x38) }, (_, index) => {
    const at = table + index * SEGMENT_BYTES
    const [offset, address, bytes] = [number(file, at + 8), number(file, at + 16), number(file, at + 32)]
    return { type: file.readUInt32LE(at), offset, address, bytes }
  })
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
  if (dynamic === undefined) return []
  const entries = Array.from({ length: dynamic.bytes / DYNAMIC_BYTES }, (_, index) => {
    const at = dynamic.offset + index * DYNAMIC_BYTES
    return { tag: number(file, at), value: number(file, at + 8) }
  })
  const names = entries.find(({ tag }) => tag === DT_STRTAB)!.value
  const segment = segments.find((s) => s.type === PT_LOAD && names >= s.address && names < s.address + s.bytes)!
  const start = names - segment.address + segment.offset
  return entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => text(file, start + value))
}

// Tags beyond 2^53 (of the operating system's own range) lose their low bits here; none of ours is one of them.
const number = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at))

const text = (file: Buffer, at: number): string => file.toString('latin1', at, file.indexOf(0, at))
