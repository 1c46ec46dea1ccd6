/**
 * A plain second implementation of search: contract sections 5.2 and 12. A text is a row of words, and of runs of Han and
 * kana, in which any piece is found. Nothing of it is shared with what it is compared with.
 */

interface Unit {
  text: string
  isRun: boolean
}

export type PlainText = readonly Unit[]

const UNITS = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+)|[\p{L}\p{M}\p{N}]/gu

export function plainText(text: string): PlainText {
  const units: Unit[] = []
  let end = -1
  for (const { 0: found, 1: run, index } of text.normalize('NFKC').toLowerCase().matchAll(UNITS)) {
    const before = units.at(-1)
    if (run !== undefined) units.push({ text: run, isRun: true })
    else if (before !== undefined && !before.isRun && index === end) before.text += found
    else units.push({ text: found, isRun: false })
    end = index + found.length
  }
  return units
}

type PlainSearch = (topic: PlainText, content: PlainText) => boolean

/** Each piece between spaces, or between quotation marks, is in the topic or in the content. Without one nothing is found. */
export function plainSearch(operand: string): PlainSearch {
  const pieces = operand
    .split('"')
    .flatMap((text, at) =>
      at % 2 === 1
        ? [{ units: plainText(text), isPhrase: true }]
        : text.split(/\s+/).map((word) => ({ units: plainText(word), isPhrase: false })),
    )
    .filter(({ units }) => units.length > 0)
  return (topic, content) =>
    pieces.length > 0 &&
    pieces.every(({ units, isPhrase }) => isIn(topic, units, isPhrase) || isIn(content, units, isPhrase))
}

const isIn = (text: PlainText, wanted: PlainText, isPhrase: boolean): boolean =>
  text.some((_, start) =>
    wanted.every((unit, at) => fits(text[start + at], unit, at === 0, at === wanted.length - 1, isPhrase)),
  )

function fits(
  there: Unit | undefined,
  { text, isRun }: Unit,
  isFirst: boolean,
  isLast: boolean,
  isPhrase: boolean,
): boolean {
  if (there === undefined || there.isRun !== isRun) return false
  if (isRun && isFirst && isLast) return there.text.includes(text)
  if (isRun && isFirst) return there.text.endsWith(text)
  if (isLast && (isRun || (!isPhrase && text.length >= 3))) return there.text.startsWith(text)
  return there.text === text
}
