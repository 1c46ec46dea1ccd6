/** How names of channels, groups and topics are compared: without case, and one composition of accents for all. */

export const fold = (name: string): string => name.normalize('NFC').toLowerCase()
