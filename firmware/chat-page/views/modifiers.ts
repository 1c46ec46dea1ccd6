/** Modifiers of keys, and keys held down. Some keyboards type signs such as `@` and `[` by AltGr, which browsers report as Control and Alt. */

const isSign = (event: KeyboardEvent): boolean => event.getModifierState('AltGraph')

export const isControlKey = (event: KeyboardEvent): boolean => !isSign(event) && (event.ctrlKey || event.metaKey)
export const isAltKey = (event: KeyboardEvent): boolean => !isSign(event) && event.altKey

/** A held Enter begins lines, but sends nothing from another field, and presses a button once. */
export function ignoreHeldEnter(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.repeat && !(event.target instanceof HTMLTextAreaElement)) event.preventDefault()
}
