/**
 * What clients may take of the memory. The boot manager gives the firmware's heap a share of the machine's, and leaves as much
 * beside it for bodies, connections and threads (boot/device/early.ts): what is in proportion to the heap fits there.
 */

import { getHeapStatistics } from 'node:v8'

export const MIB = 1024 * 1024

const heapBytes = getHeapStatistics().heap_size_limit

/** So many bytes of it, in proportion to the heap, within bounds. */
export const memoryFor = (shareOfHeap: number, bytesMin: number, bytesMax: number): number =>
  Math.floor(Math.min(Math.max(heapBytes * shareOfHeap, bytesMin), bytesMax))
