/**
 * How much memory clients may take. The boot manager gives the firmware's heap a share of the machine's memory, and leaves as much
 * for bodies, connections and threads (boot/device/early.ts), so bounds here are shares of the heap.
 */

import { getHeapStatistics } from 'node:v8'

export const MIB = 1024 * 1024

const heapBytes = getHeapStatistics().heap_size_limit

/** So many bytes of it, in proportion to the heap, within bounds. */
export const memoryFor = (shareOfHeap: number, bytesMin: number, bytesMax: number): number =>
  Math.floor(Math.min(Math.max(heapBytes * shareOfHeap, bytesMin), bytesMax))
