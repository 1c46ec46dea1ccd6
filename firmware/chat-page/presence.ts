/** Reports to the server whether the user is at this tab, and gets the presence of others. Times are those of Zulip's web client. */

import { call } from './api.ts'
import { changed, noteFailure } from './connection.ts'
import { takePresences } from './model/presence.ts'
import type { RealmView } from './model/realm.ts'
import type { PresenceTimes } from './model/types.ts'

const IDLE_AFTER_MS = 300_000
const INPUTS = ['keydown', 'pointerdown', 'pointermove', 'wheel', 'touchstart', 'focus'] as const

/** Returns a function that ends the reports. An account that hides its presence says nothing of its activity. */
export function reportPresence(realm: RealmView): () => void {
  const controller = new AbortController()
  const { signal } = controller
  let lastInputMs = document.hasFocus() ? Date.now() : 0
  let hasInput = false
  const isIdle = () => Date.now() - lastInputMs >= IDLE_AFTER_MS
  const report = async () => {
    const isShown = realm.settings.presence_enabled
    const values = {
      status: isShown && !isIdle() ? 'active' : 'idle',
      new_user_input: isShown && hasInput,
      last_update_id: realm.presences.lastUpdateId,
    }
    hasInput = false
    try {
      const answer = await call<{ presences: Record<string, PresenceTimes>; presence_last_update_id: number }>(
        'POST',
        '/users/me/presence',
        values,
        { signal },
      )
      takePresences(realm.presences, answer.presences)
      realm.presences.lastUpdateId = Math.max(realm.presences.lastUpdateId, answer.presence_last_update_id)
      changed()
    } catch (error) {
      if (!signal.aborted) noteFailure(error)
    }
  }
  const note = () => {
    const wasIdle = isIdle()
    lastInputMs = Date.now()
    hasInput = true
    if (wasIdle) void report()
  }
  for (const type of INPUTS) addEventListener(type, note, { passive: true, capture: true, signal })
  const timer = setInterval(() => void report(), realm.presences.reportEveryS * 1000)
  void report()
  return () => {
    clearInterval(timer)
    controller.abort()
  }
}
