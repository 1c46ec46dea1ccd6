/**
 * What the history mentions of each level in its parts 2 (fields), 4 (endpoints), 5 (signing in), 6 (events) and 7 (errors), a
 * row each: how it looks now, to a client of that level, and to one of the level before. Contract section 8.1.
 */

import { ENDPOINTS } from './endpoints.ts'
import { EVENTS } from './events.ts'
import { FIELDS } from './fields.ts'
import type { Item } from './probes.ts'

export const ITEMS: readonly Item[] = [...FIELDS, ...ENDPOINTS, ...EVENTS]
