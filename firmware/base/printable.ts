/**
 * Characters that a terminal or a log viewer acts on instead of showing them: controls, line separators, lone
 * surrogates, and format characters, among them the bidirectional overrides (U+202E) that reorder a line.
 */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

export const printable = (text: string): string => text.replace(UNPRINTABLE, '·')
