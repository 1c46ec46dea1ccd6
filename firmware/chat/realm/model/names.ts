/** Comparison of channel, group and topic names: ignores case and differences of Unicode composition. */

export const fold = (name: string): string => name.normalize('NFC').toLowerCase()
