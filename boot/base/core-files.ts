/**
 * Keeps secrets out of core files: no memory of the boot manager is dumped, whatever the limit and the kernel's core_pattern.
 * core(5): coredump_filter selects the mappings of a core file. Children inherit it, so this covers the firmware, too. A limit of
 * zero (ulimit -c) does not suffice: the kernel ignores it if core_pattern names a program.
 */

import { writeFileSync } from 'node:fs'

export function preventCoreFiles(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    console.error('Cannot keep memory out of core files on this kernel: disable core files.')
  }
}
