/** Grows when the box in which people write is to have the focus. */

import { signal } from '@preact/signals'

export const boxWanted = signal(0)
