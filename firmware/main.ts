/** The entry of the firmware. Crypto workers have one of their own, and with it less to load: crypto/pool/worker.ts. */

import { setFlagsFromString } from 'node:v8'
import { connect } from './channel/connect.ts'
import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

// Machine code of WebAssembly that better one has replaced is not freed: QEMU 7.2, emulating several cores, may follow a
// jump into it that another core has redirected. On the command line it would have Node compile its own modules anew.
setFlagsFromString('--no-wasm-code-gc')

// The nursery of this thread has its size from the command line by now, which would go before what workers are given.
setFlagsFromString('--max-semi-space-size=0')

const channel = connect()
if (channel === null) {
  console.error('The firmware does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
} else await obey(channel, new URL(import.meta.url))
