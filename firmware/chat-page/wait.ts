const FIRST_WAIT_MS = 1000
const WAIT_MS_MAX = 30_000

/** `failures` counts from 1. The jitter spreads the reconnects of many clients. */
export const backOffMs = (failures: number): number =>
  Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), WAIT_MS_MAX) * (0.5 + Math.random() / 2)

/** Ends early when the browser is online again or the tab becomes visible. */
export const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      removeEventListener('online', end)
      document.removeEventListener('visibilitychange', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    addEventListener('online', end)
    document.addEventListener('visibilitychange', end)
    signal.addEventListener('abort', end)
  })
