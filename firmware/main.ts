/**
 * The one entry of the firmware: the service, or a thread that serves crypto to it. Each loads only what it needs, which
 * keeps tens of megabytes out of the threads.
 */

import { isMainThread } from 'node:worker_threads'

const EXIT_UNSUPERVISED = 2

if (!isMainThread) {
  const { serveWorker } = await import('./crypto/worker.ts')
  serveWorker()
} else if (process.send === undefined) {
  console.error('The firmware does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
} else {
  const { obey } = await import('./service.ts')
  await obey(new URL(import.meta.url))
}
