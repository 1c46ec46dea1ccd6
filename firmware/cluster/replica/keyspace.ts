/** Where things lie in etcd: nothing in these names tells more than how many records there are, and when they change. */

const ROOT = '/coffer/'
/** All that one change of the cluster writes lies below it. */
export const PREFIX = ROOT
/** No record lies here: see head.ts. */
export const HEAD_KEY = `${ROOT}head`

/**
 * Below it the names of generations that are to be removed: they were replaced, or are still written by the member whose id lies there,
 * and have yet to become the cluster's.
 */
export const OBSOLETE = `${ROOT}obsolete/`

const RECORD = /^\/coffer\/([0-9A-F]+)\/([A-Za-z]+)\/([0-7][0-9a-f]{15})$/

export const generationPrefix = (generation: string): string => `${ROOT}${generation}/`

/** In the order of slots. */
export const recordKey = (generation: string, collection: string, slot: bigint): string =>
  `${generationPrefix(generation)}${collection}/${slot.toString(16).padStart(16, '0')}`

/** Null where this is no record's place. */
export function parseRecordKey(key: string): { generation: string; collection: string; slot: bigint } | null {
  const [, generation, collection, slot] = RECORD.exec(key) ?? []
  if (generation === undefined || collection === undefined) return null
  return { generation, collection, slot: BigInt(`0x${slot}`) }
}
