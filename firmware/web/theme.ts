/** Light or dark theme: the system's, unless the user chooses one. */

import { effect, signal } from '@preact/signals'

type Theme = 'auto' | 'light' | 'dark'
const SETTING = 'coffer-theme'

export const theme = signal<Theme>(read())

export function applyTheme(): void {
  effect(() => {
    if (theme.value === 'auto') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme.value
    localStorage.setItem(SETTING, theme.value)
  })
}

function read(): Theme {
  const stored = localStorage.getItem(SETTING)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}
