import { threadMs } from '../../firmware/base/batch-size.ts'

/** The processor time of the longest turn of the event loop while this goes on, and what comes of it. */
export async function watchTurns<T>(work: () => Promise<T>): Promise<{ result: T; longestMs: number }> {
  let [isOver, longestMs, lastMs] = [false, 0, threadMs()]
  const watch = (): void => {
    const nowMs = threadMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  const result = await work().finally(() => {
    isOver = true
  })
  watch()
  return { result, longestMs }
}
