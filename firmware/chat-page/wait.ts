import { limitMsOf } from './api.ts'

const FIRST_WAIT_MS = 1000
const WAIT_MS_MAX = 30_000
const WAKE = 'coffer-wake'

/** `failures` counts from 1. The jitter spreads the reconnects of many clients. */
export const backOffMs = (failures: number): number =>
  Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), WAIT_MS_MAX) * (0.5 + Math.random() / 2)

/** Ends all waits of this tab. */
export const wake = (): boolean => dispatchEvent(new Event(WAKE))

/** Resolves after the time, or at one of these events. */
const timeOr = (ms: number, ...events: readonly (readonly [EventTarget, string])[]): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      for (const [target, event] of events) target.removeEventListener(event, end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    for (const [target, event] of events) target.addEventListener(event, end)
  })

/** Only the signal ends it early: for the time that a server has demanded. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => timeOr(ms, [signal, 'abort'])

/** Ends early when the browser is online again or the tab becomes visible. */
export const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  timeOr(ms, [signal, 'abort'], [globalThis, 'online'], [globalThis, WAKE], [document, 'visibilitychange'])

/** Waits before a call that failed is made again; as long as a server that limits the caller demands. */
export function waitAfter(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
  const limitMs = limitMsOf(error)
  return limitMs === null ? wait(backOffMs(failures), signal) : pause(limitMs, signal)
}
