/** Text without control characters, which could move the cursor or change the terminal. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, '·')
