/** The fragment of the address, which no server sees. */

import { signal } from '@preact/signals'

export const fragment = signal(location.hash)

export function watchPlace(): void {
  addEventListener('hashchange', () => {
    fragment.value = location.hash
  })
}

export const go = (to: string): void => {
  location.hash = to
}
