/**
 * Signs out after ten minutes without a key, click or touch, and after eight hours in any case. One minute before, a line counts
 * down. A running backup, restore or update suspends the ten minutes.
 */

import { signal } from '@preact/signals'

export const IDLE_MINUTES_MAX = 10
export const SESSION_HOURS_MAX = 8
const WARNING_SECONDS = 60
const SETTING = 'coffer-idle' // {"minutes", "hours"}: nothing secret is ever stored

/** Seconds until sign-out, or null while more than a minute remains. */
export const secondsLeft = signal<number | null>(null)

/** The user's limits. They can shorten the defaults, not lengthen them. */
export const limits = signal(readLimits())

let active = Date.now()
let signedIn = 0 // time of the first account, 0 while there is none
let running = 0

export function setLimits(minutes: number, hours: number): void {
  limits.value = bounded(minutes, hours)
  localStorage.setItem(SETTING, JSON.stringify(limits.value))
}

export function beginSession(): void {
  if (signedIn === 0) signedIn = Date.now()
  active = Date.now()
}

export function endSession(): void {
  signedIn = 0
  secondsLeft.value = null
}

let held = 0

/** True while a restore or update runs. The appliance may not answer or may be Locked meanwhile, and the user wants to see the result. */
export const isHeld = (): boolean => held > 0

/** Suspends the idle limit and keeps the current view while `work` runs. */
export async function holdView<T>(work: () => Promise<T>): Promise<T> {
  held++
  try {
    return await suspendIdle(work)
  } finally {
    held--
  }
}

/** Suspends the idle limit while `work` runs. */
export async function suspendIdle<T>(work: () => Promise<T>): Promise<T> {
  running++
  try {
    return await work()
  } finally {
    running--
    active = Date.now()
  }
}

export function watchIdle(drop: (reason: 'idle' | 'long') => void): void {
  const note = () => {
    active = Date.now()
  }
  for (const event of ['keydown', 'pointerdown', 'touchstart']) addEventListener(event, note, { passive: true })
  const look = () => {
    const now = Date.now()
    if (running > 0) active = now
    const idleLeft = active + limits.value.minutes * 60_000 - now
    if (signedIn === 0) {
      if (idleLeft <= 0) emptyPassphrases()
      return
    }
    const sessionLeft = running > 0 ? Number.POSITIVE_INFINITY : signedIn + limits.value.hours * 3_600_000 - now
    const left = Math.min(idleLeft, sessionLeft)
    if (left <= 0) return drop(idleLeft <= 0 ? 'idle' : 'long')
    secondsLeft.value = left <= WARNING_SECONDS * 1000 ? Math.ceil(left / 1000) : null
  }
  setInterval(look, 1000)
  // After sleep, check the limits at once: do not show the old view.
  addEventListener('visibilitychange', look)
  addEventListener('focus', look)
}

/** Clears passphrases that were typed and not sent. */
export function emptyPassphrases(): void {
  const fields = document.querySelectorAll<HTMLInputElement>('[type=password], [autocomplete$=password]')
  for (const field of fields) field.value = ''
}

function readLimits(): { minutes: number; hours: number } {
  try {
    const { minutes, hours } = JSON.parse(localStorage.getItem(SETTING) ?? '{}') as Record<string, unknown>
    return bounded(Number(minutes ?? IDLE_MINUTES_MAX), Number(hours ?? SESSION_HOURS_MAX))
  } catch {
    return bounded(IDLE_MINUTES_MAX, SESSION_HOURS_MAX)
  }
}

function bounded(minutes: number, hours: number): { minutes: number; hours: number } {
  const within = (value: number, max: number) => (value >= 1 && value <= max ? Math.floor(value) : max)
  return { minutes: within(minutes, IDLE_MINUTES_MAX), hours: within(hours, SESSION_HOURS_MAX) }
}
