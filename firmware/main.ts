/** The entry of the firmware. Crypto workers have one of their own, and with it less to load: crypto/worker.ts. */

import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

if (process.send === undefined) {
  console.error('The firmware does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
} else await obey(new URL(import.meta.url))
