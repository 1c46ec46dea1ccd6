/** Which members answers have where the reference and the original API name the same differently. Contract 5, row 23. */

export const MEMBERS = ['both', 'reference', 'original'] as const
export type Vocabulary = (typeof MEMBERS)[number]
