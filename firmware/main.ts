/** The entry of the firmware. Crypto workers have one of their own, and with it less to load: crypto/worker.ts. */

import { setFlagsFromString } from 'node:v8'
import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

// Machine code of WebAssembly that better one has replaced is not freed: QEMU 7.2, emulating several cores, may follow a
// jump into it that another core has redirected. On the command line it would have Node compile its own modules anew.
setFlagsFromString('--no-wasm-code-gc')

if (process.send === undefined) {
  console.error('The firmware does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
} else await obey(new URL(import.meta.url))
