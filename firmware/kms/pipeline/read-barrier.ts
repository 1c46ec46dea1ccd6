/**
 * Read barrier of a cluster: a node refuses a request only after it has applied all earlier changes of other nodes. A client that was told
 * of a new key on one node then never misses it on another. Contract section 3.6.
 */

import { CofferError, type ErrorCode } from '../../base/error.ts'

export interface ClusterView {
  /** Number of the last applied change. */
  readonly n: number
  /** Resolves when all earlier changes are applied; at once if that cannot be determined. */
  barrier(): Promise<unknown>
}

/** Errors that newer records could turn into a success. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden', 'notFound', 'unavailable'])

export interface ReadBarrier {
  /** Calls `ask`, and again if it throws a refusal and newer changes were applied meanwhile. */
  refusal<T>(ask: () => T): T | Promise<T>
  /** Like `refusal`, for an `ask` that refuses by returning null. */
  null<T>(ask: () => T | null | Promise<T | null>): T | null | Promise<T | null>
}

/** `nodes` returns null on a standalone node; then `ask` is called once. */
export function createReadBarrier(nodes: () => ClusterView | null): ReadBarrier {
  return {
    refusal(ask) {
      const node = nodes()
      if (node === null) return ask()
      const { n } = node
      try {
        return ask()
      } catch (error) {
        if (!(error instanceof CofferError && REFUSALS.has(error.code))) throw error
        return node.barrier().then(() => {
          if (node.n === n) throw error
          return ask()
        })
      }
    },
    null(ask) {
      const node = nodes()
      if (node === null) return ask()
      const { n } = node
      const answer = ask()
      if (answer !== null && !(answer instanceof Promise)) return answer
      return confirmed(node, n, answer, ask)
    },
  }
}

async function confirmed<T>(
  node: ClusterView,
  n: number,
  first: T | Promise<T | null> | null,
  ask: () => T | null | Promise<T | null>,
): Promise<T | null> {
  const answer = await first
  if (answer !== null) return answer
  await node.barrier()
  return node.n === n ? null : ask()
}
