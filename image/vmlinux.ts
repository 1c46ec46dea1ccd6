/**
 * The kernel without its compression, for emulators that load it directly: an emulated processor unpacks it for seconds.
 * Linux, Documentation/arch/x86/boot.rst (bzImage) and PVH boot.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { run } from './run.ts'

const SETUP_SECTORS = 0x1f1
const MAGIC = 0x202 // "HdrS"
const PAYLOAD = 0x248 // its place behind the setup code, then its length
const SECTOR_BYTES = 512
const XZ = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])

/** A kernel that is no bzImage, as on arm64, or compressed in another way stays as it is. */
export function uncompressed(kernel: Buffer, scratch: string): Buffer {
  if (kernel.toString('latin1', MAGIC, MAGIC + 4) !== 'HdrS') return kernel
  const start = (kernel[SETUP_SECTORS]! + 1) * SECTOR_BYTES + kernel.readUInt32LE(PAYLOAD)
  const payload = kernel.subarray(start, start + kernel.readUInt32LE(PAYLOAD + 4))
  if (!payload.subarray(0, XZ.length).equals(XZ)) return kernel
  const file = `${scratch}/vmlinux`
  try {
    writeFileSync(`${file}.xz`, payload)
    // What follows the stream is its length, for the kernel.
    run('xz', ['--decompress', '--single-stream', '--force', `${file}.xz`])
    return readFileSync(file)
  } finally {
    for (const path of [file, `${file}.xz`]) rmSync(path, { force: true })
  }
}
