/** Members and actions that GitHub's events share. Contract section 3.5.2. */

import { z } from 'zod'
import { UnsupportedEvent } from './integration.ts'

export const USER = z.object({ login: z.string() })
export const COMMON = { repository: z.object({ name: z.string(), html_url: z.string() }), sender: USER }

/** Maps the action to a verb; null for an action that is not reported. */
export function verbOf(
  event: string,
  action: string,
  told: readonly string[],
  quiet: readonly string[],
): string | null {
  if (told.includes(action)) return action
  if (quiet.includes(action)) return null
  throw new UnsupportedEvent(event, action)
}
