/**
 * Where several nodes share their records, a refusal is given once this node has whatever the others had changed before: a key that was
 * made on one of them is never missing on another for who was told that it is there. Contract section 3.6.
 */

import { CofferError, type ErrorCode } from '../../base/error.ts'

export interface ClusterView {
  /** Of the change that came last. */
  readonly n: number
  /** Ends when all has come that was changed before; at once where nobody can tell. */
  barrier(): Promise<unknown>
}

/** What more records could turn into another answer. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['unauthenticated', 'forbidden', 'notFound', 'unavailable'])

export interface ReadBarrier {
  /** Asks; and once more where that throws a refusal and changes have come since. */
  refusal<T>(ask: () => T): T | Promise<T>
  /** The same where null is one. */
  null<T>(ask: () => T | null | Promise<T | null>): T | null | Promise<T | null>
}

/** `nodes`: null while there are none; then nothing is asked twice. */
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
