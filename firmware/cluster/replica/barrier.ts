/** Waits for all changes made before a moment: asks for the newest head and waits until this node has adopted it. */

import type { Etcd } from '../etcd/etcd.ts'
import { HEAD_KEY } from './keyspace.ts'

interface BarrierOptions {
  etcd: Etcd
  timeoutMs: number
  /** The revision of the head that was adopted last. */
  revision: () => number
  /** False once nothing is adopted any more. */
  isRunning: () => boolean
}

interface Barrier {
  /** The revision of the newest head. Calls that come while one asks share the next. Throws EtcdError. */
  newest(): Promise<number>
  /** True once that was adopted; false when it took too long, or nothing is adopted any more. */
  adopted(revision: number, timeoutMs: number): Promise<boolean>
  /** Lets those go on whose head was adopted, or will not be. */
  release(): void
}

export function createBarrier({ etcd, timeoutMs, revision: present, isRunning }: BarrierOptions): Barrier {
  const waiting = new Set<{ revision: number; resolve: () => void }>()
  let asking: Promise<number> | null = null
  let askingNext: Promise<number> | null = null

  async function ask(): Promise<number> {
    try {
      const { entry } = await etcd.get(HEAD_KEY, { timeoutMs })
      return entry?.revision ?? 0
    } finally {
      asking = null
    }
  }

  async function askAfter(former: Promise<number>): Promise<number> {
    await former.catch(() => {})
    askingNext = null
    return newest()
  }

  function newest(): Promise<number> {
    if (asking !== null) {
      askingNext ??= askAfter(asking)
      return askingNext
    }
    asking = ask()
    return asking
  }

  return {
    newest,
    async adopted(revision, timeoutMs) {
      if (isRunning() && revision > present()) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const waiter = { revision, resolve }
        waiting.add(waiter)
        const timer = setTimeout(resolve, timeoutMs)
        await promise
        clearTimeout(timer)
        waiting.delete(waiter)
      }
      return isRunning() && revision <= present()
    },
    release() {
      for (const { revision, resolve } of waiting) if (!isRunning() || revision <= present()) resolve()
    },
  }
}
