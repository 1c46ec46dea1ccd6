/** Reads a UEFI program: its machine, sections and signatures. Microsoft PE format. */

import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

export interface PortableExecutable {
  /** IMAGE_FILE_MACHINE. */
  machine: number
  sections: readonly PeSection[]
  /** Content of a section, which must be small. */
  read(section: PeSection): Buffer
  /** Attribute certificate table; empty for an unsigned program. */
  certificates(): Buffer
  /** Digest that Authenticode signs: covers all bytes except the checksum, the position of the certificates, and the certificates. */
  sha256(): Buffer
  close(): void
}

interface PeSection {
  name: string
  /** Length of the content. The stored section may be longer. */
  bytes: number
  storedBytes: number
  start: number
}

export class PeError extends Error {}

const HEADERS_BYTES_MAX = 4096 // stub and headers; linkers write less
const SECTIONS_MAX = 96
const CERTIFICATES_BYTES_MAX = 64 * 1024
const READ_BYTES_MAX = 64 * 1024
const HASH_BYTES = 1024 * 1024
const PE32_PLUS = 0x20b
const EFI_APPLICATION = 10
const HEADERS = 60 // hashed from the optional header on
const CHECKSUM = 64
const SUBSYSTEM = 68
const DIRECTORY_COUNT = 108
const CERTIFICATE_DIRECTORY = 112 + 4 * 8

/** Throws a PeError if the file is no such program, is truncated, or is not for UEFI. Also throws errors of the file system. */
export function openPortableExecutable(path: string): PortableExecutable {
  const file = openSync(path, 'r')
  try {
    return openFile(file)
  } catch (error) {
    closeSync(file)
    throw error instanceof RangeError ? new PeError('its headers are cut off') : error
  }
}

function openFile(file: number): PortableExecutable {
  const fileBytes = fstatSync(file).size
  const head = readAt(file, 0, Math.min(HEADERS_BYTES_MAX, fileBytes))
  if (head.toString('latin1', 0, 2) !== 'MZ') throw new PeError('it is not a program')
  const signature = head.readUInt32LE(0x3c)
  if (head.toString('latin1', signature, signature + 4) !== 'PE\0\0') throw new PeError('it is not a program')
  const coff = signature + 4
  const optional = coff + 20
  if (head.readUInt16LE(optional) !== PE32_PLUS || head.readUInt16LE(optional + SUBSYSTEM) !== EFI_APPLICATION)
    throw new PeError('it is not a program for UEFI')
  const count = head.readUInt16LE(coff + 2)
  if (count > SECTIONS_MAX) throw new PeError('it has too many sections')

  const table = optional + head.readUInt16LE(coff + 16)
  const sections = Array.from({ length: count }, (_, index) => {
    const at = table + index * 40
    const name = head.toString('latin1', at, at + 8).replace(/\0.*$/s, '')
    const [virtualBytes, storedBytes] = [head.readUInt32LE(at + 8), head.readUInt32LE(at + 16)]
    const start = head.readUInt32LE(at + 20)
    if (start + storedBytes > fileBytes) throw new PeError(`its section ${name} is cut off`)
    return { name, bytes: Math.min(virtualBytes, storedBytes), start, storedBytes }
  })

  const headersBytes = head.readUInt32LE(optional + HEADERS)
  if (headersBytes > fileBytes) throw new PeError('its headers are cut off')
  const hasDirectory = head.readUInt32LE(optional + DIRECTORY_COUNT) > 4
  const place = optional + CERTIFICATE_DIRECTORY
  const certificateBytes = hasDirectory ? head.readUInt32LE(place + 4) : 0
  const certificateStart = certificateBytes > 0 ? head.readUInt32LE(place) : fileBytes
  if (certificateStart + certificateBytes !== fileBytes) throw new PeError('its signatures are not at its end')
  if (certificateBytes > CERTIFICATES_BYTES_MAX) throw new PeError('its signatures are too large')

  return {
    machine: head.readUInt16LE(coff),
    sections,
    read: ({ name, start, bytes }) => {
      if (bytes > READ_BYTES_MAX) throw new PeError(`its section ${name} is too large`)
      return readAt(file, start, bytes)
    },
    certificates: () => readAt(file, certificateStart, certificateBytes),
    sha256: () => {
      const hash = createHash('sha256')
      const add = (start: number, end: number) => {
        for (let at = start; at < end; at += HASH_BYTES) hash.update(readAt(file, at, Math.min(HASH_BYTES, end - at)))
      }
      const checksum = optional + CHECKSUM
      add(0, checksum)
      add(checksum + 4, place)
      add(hasDirectory ? place + 8 : place, headersBytes)
      let hashedBytes = headersBytes
      for (const { start, storedBytes } of sections.toSorted((a, b) => a.start - b.start)) {
        add(start, start + storedBytes)
        hashedBytes += storedBytes
      }
      add(hashedBytes, certificateStart) // data after the sections, provided that there are no gaps between them
      return hash.digest()
    },
    close: () => closeSync(file),
  }
}

function readAt(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  for (let offset = 0; offset < bytes; ) {
    const read = readSync(file, buffer, offset, bytes - offset, position + offset)
    if (read === 0) throw new PeError('it is cut off')
    offset += read
  }
  return buffer
}
