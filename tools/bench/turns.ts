/** The longest turn of the event loop while this goes on, by a clock of milliseconds, and what comes of it. */
export async function watchTurns<T>(
  clock: () => number,
  work: () => Promise<T>,
): Promise<{ result: T; longestMs: number }> {
  let [isOver, longestMs, lastMs] = [false, 0, clock()]
  const watch = (): void => {
    const nowMs = clock()
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
