/** Finds English words of the page among the texts that a German page shows. */

import type { Page } from 'playwright-core'
import * as de from '../../../firmware/chat-page/words/de.ts'
import * as en from '../../../firmware/chat-page/words/en.ts'

const NAME = '\u2603' // in no text
const COUNT = 77
const PUT_IN = new RegExp(`(${NAME}|\\d+)`)
/** For functions, whose parameters are names, numbers, lists or dates. */
const ARGUMENTS: readonly unknown[][] = [
  [NAME, NAME, NAME],
  [COUNT, COUNT, COUNT],
  [1, 1],
  [0, 0],
  [NAME, COUNT],
  [NAME, 1],
  [NAME, NAME, null],
  [[NAME, NAME], 2],
  [[NAME], 1],
  [new Date(0), new Date(0)],
  [NAME, new Date(0), COUNT],
  [NAME, new Date(0), 1],
  [NAME, NAME, new Date(0)],
]

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'function')
    return ARGUMENTS.flatMap((some) => outputOf(value as (...some: unknown[]) => string, some))
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

function outputOf(make: (...some: unknown[]) => string, some: unknown[]): string[] {
  try {
    const text = make(...some)
    return /undefined|null|NaN|Invalid/.test(text) ? [] : [text]
  } catch {
    return [] // parameters of other types
  }
}

/** Texts without what is put into them. */
const piecesOf = (text: string): string[] =>
  text
    .split(PUT_IN)
    .filter((piece) => !PUT_IN.test(piece))
    .map((piece) => piece.trim())
    .filter((piece) => /[a-z]{2}/i.test(piece))

const german = [...new Set(textsOf(de).flatMap(piecesOf))]
const english = [...new Set(textsOf(en).flatMap(piecesOf))].filter((piece) => !german.includes(piece))
const patternOf = (piece: string): string =>
  piece === NAME ? '.+' : /^\d/.test(piece) ? '[\\d.,]+' : RegExp.escape(piece)

/** English texts with any name or number in them. */
const wholes = [...new Set(textsOf(en))]
  .filter((text) => piecesOf(text).some((piece) => english.includes(piece)))
  .map((text) => new RegExp(`^${text.split(PUT_IN).map(patternOf).join('')}$`))
/** Two words and more: a shorter text can be part of a German one. */
const parts = english.filter((piece) => /[a-z] [a-z]/i.test(piece) && !german.some((text) => text.includes(piece)))

/** Texts and names of elements that are shown, but for contents of messages. */
export const shownTexts = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const NAMES = ['aria-label', 'title', 'placeholder', 'alt']
    const all: string[] = [document.title]
    const isContent = (element: Element) => element.closest('.message .content, .emoji-grid') !== null
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
      if (node.parentElement !== null && !isContent(node.parentElement)) all.push(node.textContent ?? '')
    for (const element of document.querySelectorAll(NAMES.map((name) => `[${name}]`).join()))
      if (!isContent(element)) for (const name of NAMES) all.push(element.getAttribute(name) ?? '')
    return [...new Set(all.map((text) => text.trim()).filter((text) => text !== ''))]
  })

export const leftEnglish = (texts: readonly string[]): string[] =>
  texts.filter((text) => wholes.some((whole) => whole.test(text)) || parts.some((part) => text.includes(part)))
