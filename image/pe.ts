/**
 * A unified kernel image: systemd's stub with further sections behind its own. PE format, "Section Table (Section
 * Headers)"; what the stub does with the sections: systemd-stub(7).
 */

const SECTION_HEADER_BYTES = 40
const INITIALISED_DATA = 0x40
const READABLE = 0x4000_0000

export interface Section {
  /** At most eight bytes, with its dot. */
  name: string
  bytes: Uint8Array
}

/** The stub with `sections` behind its own, in their order. The same input gives the same bytes. */
export function appendSections(stub: Buffer, sections: readonly Section[]): Buffer {
  const coff = stub.readUInt32LE(0x3c) + 4
  const count = stub.readUInt16LE(coff + 2)
  const optional = coff + 20
  const [sectionAlignment, fileAlignment] = [stub.readUInt32LE(optional + 32), stub.readUInt32LE(optional + 36)]
  const headersBytes = stub.readUInt32LE(optional + 60)
  const table = optional + stub.readUInt16LE(coff + 16)
  const tableEnd = table + count * SECTION_HEADER_BYTES
  if (tableEnd + sections.length * SECTION_HEADER_BYTES > headersBytes)
    throw new Error(`the stub has no room for ${sections.length} more sections`)

  const last = tableEnd - SECTION_HEADER_BYTES
  let address = alignUp(stub.readUInt32LE(last + 8) + stub.readUInt32LE(last + 12), sectionAlignment)
  // Behind the last section lie symbols for debuggers: what is signed must have no gaps between its sections.
  const end = stub.readUInt32LE(last + 20) + stub.readUInt32LE(last + 16)
  let position = alignUp(end, fileAlignment)
  const head = Buffer.from(stub.subarray(0, end))
  head.fill(0, coff + 8, coff + 16) // PointerToSymbolTable, NumberOfSymbols
  const parts: Uint8Array[] = [head, new Uint8Array(position - end)]
  sections.forEach(({ name, bytes }, index) => {
    const storedBytes = alignUp(bytes.length, fileAlignment)
    const header = head.subarray(tableEnd + index * SECTION_HEADER_BYTES)
    header.write(name, 0, 8, 'latin1')
    header.writeUInt32LE(bytes.length, 8)
    header.writeUInt32LE(address, 12)
    header.writeUInt32LE(storedBytes, 16)
    header.writeUInt32LE(position, 20)
    header.writeUInt32LE(INITIALISED_DATA | READABLE, 36)
    parts.push(bytes, new Uint8Array(storedBytes - bytes.length))
    address = alignUp(address + bytes.length, sectionAlignment)
    position += storedBytes
  })
  head.writeUInt16LE(count + sections.length, coff + 2)
  head.writeUInt32LE(address, optional + 56) // SizeOfImage
  return Buffer.concat(parts)
}

const alignUp = (value: number, alignment: number): number => Math.ceil(value / alignment) * alignment
