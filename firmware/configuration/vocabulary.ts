/** Selects the member names of answers where the reference and the original API differ. Contract section 5, row 23. */

export const MEMBERS = ['both', 'reference', 'original'] as const
export type Vocabulary = (typeof MEMBERS)[number]
