/**
 * Keeps secrets out of core files: nothing of our memory is dumped, whatever the limit and wherever the kernel pipes it.
 *
 * core(5): coredump_filter says which kinds of mappings a core file holds, and children inherit it, so this covers the
 * firmware too. A limit of zero (ulimit -c) would not do: the kernel ignores it when core_pattern names a program.
 */

import { writeFileSync } from 'node:fs'

export function preventCoreFiles(): void {
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    console.error('This kernel does not let us keep memory out of core files; make sure that it writes none.')
  }
}
