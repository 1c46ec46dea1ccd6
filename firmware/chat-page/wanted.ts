/** Fields and dialogs that a key or an act opens. A field is focused by the next view that has it. */

import { signal } from '@preact/signals'

/** True once the compose box is wanted. */
export const boxWanted = signal(false)

/** True once the field that filters a list is wanted. */
export const filterWanted = signal(false)

/** Dialog that is open over any view. */
export const openDialog = signal<'shortcuts' | 'switcher' | null>(null)
