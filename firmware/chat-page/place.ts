/** The fragment of the address, which no server sees. */

import { signal } from '@preact/signals'

export const fragment = signal(location.hash)

export function watchPlace(): void {
  addEventListener('hashchange', () => {
    fragment.value = location.hash
  })
}

/** The view changes at once, not with the browser's event: a focus that is wanted must not go to the view that is left. */
export const go = (to: string): void => {
  location.hash = to
  fragment.value = location.hash
}
