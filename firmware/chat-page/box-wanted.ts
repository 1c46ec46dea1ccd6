/** Counts requests to focus the compose box. */

import { signal } from '@preact/signals'

export const boxWanted = signal(0)
