/**
 * Texts of a benchmark: words as often as words are in a language, the n-th a n-th as often as the first, the same in each run.
 * Every twentieth is of Han or kana.
 */

const VOCABULARY = 50_000
const UNSPACED_EVERY = 20
const UNSPACED = [...'日本語東京会議室新規資料確認今週来週予定です変更すしラメン']
const SYLLABLES = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu an en in on un al er is or ut'.split(' ')

export interface Texts {
  /** At least 0, below 1. */
  random(): number
  below(limit: number): number
  word(): string
  text(words: number): string
}

export function createTexts(seed: number): Texts {
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(random() * limit)
  const word = (): string => VOCABULARY_OF_ALL[Math.floor(VOCABULARY ** random()) - 1]!
  return { random, below, word, text: (words) => Array.from({ length: words }, word).join(' ') }
}

const VOCABULARY_OF_ALL = Array.from({ length: VOCABULARY }, (_, rank) => {
  const isUnspaced = rank % UNSPACED_EVERY === UNSPACED_EVERY - 1
  const parts = isUnspaced ? UNSPACED : SYLLABLES
  let [word, rest] = ['', isUnspaced ? rank + parts.length : rank] // of two characters at least
  do {
    word += parts[rest % parts.length]
    rest = Math.floor(rest / parts.length) - 1
  } while (rest >= 0)
  return word
})

export const COMMONEST: readonly string[] = VOCABULARY_OF_ALL.slice(0, 5)
