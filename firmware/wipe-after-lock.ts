/**
 * After a lock, what requests and keys have left on stack and heap, and in the buffer of Node's parsers, is overwritten. So it is
 * after a TLS key was replaced: OpenSSL's copies of it lie in objects of the heap until these are collected.
 */

import type { Appliance } from './appliance/appliance.ts'
import { wipeGarbage } from './base/garbage.ts'
import type { Log } from './base/log.ts'
import { wipeStack } from './crypto/engine/stack.ts'
import { wipeParserBuffer } from './http/server/parser-buffer.ts'
import type { Operational } from './kms/domain/operational.ts'

/** When the answer has been sent, and the requests that were refused are gone. */
const LEFTOVERS_MS = 500
const AGAIN_MS = 5000 // for what a busy computer held longer; once it is unlocked, that would only make requests wait

export function wipeAfterLocks(appliance: Appliance<Operational>, log: Log): void {
  let isPending = false // requests wait while it is done: once for changes that come together
  appliance.configuration.onChange((part) => {
    if (isPending || (part !== 'tls' && part !== 'clusterTls' && part !== 'chatTls')) return
    isPending = true
    setTimeout(() => {
      isPending = false
      void wipeLeftovers(log)
    }, LEFTOVERS_MS).unref()
  })
  appliance.onState((state) => {
    if (state !== 'Locked') return
    setTimeout(() => void wipeLeftovers(log), LEFTOVERS_MS).unref()
    setTimeout(() => {
      if (appliance.state === 'Locked') void wipeLeftovers(log)
    }, AGAIN_MS).unref()
  })
}

async function wipeLeftovers(log: Log): Promise<void> {
  await wipeParserBuffer().catch(({ code }: NodeJS.ErrnoException) =>
    log.error('general', `what requests left in a buffer was not overwritten: ${code}`),
  )
  wipeStack()
  wipeGarbage()
}
