/** Metrics of the JavaScript runtime, counted since the watch began. Contract section 4.8. */

import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'

export interface RuntimeFigures {
  readonly uptimeSeconds: number
  readonly majorCollections: number
  readonly minorCollections: number
  readonly heapBytes: number
}

export function watchRuntime(): RuntimeFigures {
  const startMs = performance.now()
  let majorCollections = 0
  let minorCollections = 0
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
      const { kind } = entry.detail
      if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) majorCollections++
      else if (kind === constants.NODE_PERFORMANCE_GC_MINOR) minorCollections++
    }
  }).observe({ entryTypes: ['gc'] })
  return {
    get uptimeSeconds() {
      return (performance.now() - startMs) / 1000
    },
    get majorCollections() {
      return majorCollections
    },
    get minorCollections() {
      return minorCollections
    },
    get heapBytes() {
      return process.memoryUsage().heapUsed
    },
  }
}
