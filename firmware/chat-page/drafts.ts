/** Texts that were not sent yet, in the memory of this tab: they outlive another view and a lock of the appliance. */

const texts = new Map<string, string>()

export const draftOf = (key: string): string => texts.get(key) ?? ''

export function keepDraft(key: string, text: string): void {
  if (text === '') texts.delete(key)
  else texts.set(key, text)
}

/** Nothing that somebody typed stays for the next person who signs in. */
export const forgetDrafts = (): void => texts.clear()
