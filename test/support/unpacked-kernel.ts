/**
 * The kernel of a machine that has neither UEFI nor a TPM, without its compression: an emulated processor takes a fifth of a
 * start to unpack it. Linux, Documentation/arch/x86/boot.rst (bzImage); QEMU enters it by the protocol of Xen's PVH.
 *
 * With a TPM it would start without ACPI: the tables are larger then, and QEMU 7.2 has put the initramfs over their end.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { madeOnce, ROOT } from './made-once.ts'

const SETUP_SECTORS = 0x1f1 // of the code that runs in real mode, without the first sector
const MAGIC = 0x202 // "HdrS"
const PAYLOAD = 0x248 // its place behind that code, then its length
const SECTOR_BYTES = 512
const XZ = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00])
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024
const KERNELS_MAX = 2 // kept, each some 65 MB

/** The path of the unpacked kernel; the same path where it is not packed like that. */
export async function unpackedKernel(path: string): Promise<string> {
  const payload = payloadOf(readFileSync(path))
  if (payload === null) return path
  const directory = await madeOnce({
    stem: join(ROOT, 'dist/test-image/kernel'),
    parameters: [],
    sources: [['vmlinuz', path]],
    kept: KERNELS_MAX,
    make: async (unfinished) => {
      // What follows the stream is its length, for the kernel.
      const kernel = execFileSync('xz', ['--decompress', '--single-stream', '--stdout'], {
        input: payload,
        maxBuffer: UNPACKED_BYTES_MAX,
      })
      writeFileSync(join(unfinished, 'vmlinux'), kernel)
    },
  })
  return join(directory, 'vmlinux')
}

/** Null: it is no bzImage, or compressed in another way. */
function payloadOf(kernel: Buffer): Buffer | null {
  if (kernel.toString('latin1', MAGIC, MAGIC + 4) !== 'HdrS') return null
  const start = (kernel[SETUP_SECTORS]! + 1) * SECTOR_BYTES + kernel.readUInt32LE(PAYLOAD)
  const payload = kernel.subarray(start, start + kernel.readUInt32LE(PAYLOAD + 4))
  return payload.subarray(0, XZ.length).equals(XZ) ? payload : null
}
