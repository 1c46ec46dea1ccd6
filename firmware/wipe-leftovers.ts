/**
 * After a lock, what requests and keys have left on stack and heap, and in the buffer of Node's parsers, is overwritten; the keys
 * themselves are wiped before (appliance/sessions.ts, store/vault.ts). Threads of the crypto pool, which take freed pages of the heap, do
 * the same after it. All this is also done after a TLS key was replaced: OpenSSL's copies of the key lie in objects of the heap until these
 * are collected.
 */

import type { Appliance } from './appliance/appliance.ts'
import { wipeGarbage } from './base/garbage.ts'
import type { Log } from './base/log.ts'
import { runDetached } from './base/request-authorization.ts'
import { wipeStack } from './crypto/engine/stack.ts'
import type { StartedPool } from './crypto/pool/pool.ts'
import { wipeParserBuffer } from './http/server/parser-buffer.ts'
import type { Operational } from './kms/domain/operational.ts'

/** When the answer has been sent, the requests that were refused are gone, and so are the pool's threads, which get half a second to end. */
const LEFTOVERS_MS = 1000
/** For what was held longer: by a busy computer, by connections until they ended, by V8 as spare pages. Once it is unlocked, requests would wait. */
const AGAIN_MS = [5000, 20_000, 60_000]

export function wipeAfterLocks(appliance: Appliance<Operational>, pool: StartedPool, log: Log): void {
  let isPending = false // requests wait while it is done: once for changes that come together
  appliance.configuration.onChange((part) => {
    if (isPending || (part !== 'tls' && part !== 'clusterTls' && part !== 'chatTls')) return
    isPending = true
    setTimeout(() => {
      isPending = false
      void wipeLeftovers(pool, log)
    }, LEFTOVERS_MS).unref()
  })
  appliance.onState((state) => {
    // Detached from the request that locks, whose credentials would live as long as the timers.
    if (state === 'Locked') runDetached(wipeLater)
  })

  function wipeLater(): void {
    setTimeout(() => void wipeLeftovers(pool, log), LEFTOVERS_MS).unref()
    for (const ms of AGAIN_MS)
      setTimeout(() => {
        if (appliance.state === 'Locked') void wipeLeftovers(pool, log)
      }, ms).unref()
  }
}

async function wipeLeftovers(pool: StartedPool, log: Log): Promise<void> {
  await wipeParserBuffer().catch(({ code }: NodeJS.ErrnoException) =>
    log.error('general', `cannot wipe the buffer of requests: ${code}`),
  )
  wipeStack()
  await wipeGarbage(pool.overwriteGarbage)
}
