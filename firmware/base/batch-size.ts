/** How much of a long work is done in one turn: as much as keeps that turn short, by what the steps before have cost. */

/** Processor time of this thread, which does not pass while others have the processor. */
export const threadMs = (): number => {
  // When it is asked for the time of the process, the kernel adds up that of this thread; else it is as of the last tick, 4 ms ago.
  process.cpuUsage()
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

interface BatchSize {
  readonly value: number
  /** A step of this size took so long. It grows by half at most, and shrinks as far as it has to. */
  took(spentMs: number): void
}

export function createBatchSize({ start, max, targetMs }: { start: number; max: number; targetMs: number }): BatchSize {
  let value = start
  return {
    get value() {
      return value
    },
    took(spentMs) {
      const fitting = (value * targetMs) / Math.max(spentMs, 0.01)
      value = Math.max(1, Math.min(max, Math.ceil(value * 1.5), Math.floor(fitting)))
    },
  }
}
