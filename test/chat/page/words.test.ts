/** The words of the page: each language has all of them. That a missing one fails the type check is in words/words.ts. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as de from '../../../firmware/chat-page/words/de.ts'
import * as en from '../../../firmware/chat-page/words/en.ts'
import {
  dateAndTime,
  fileSize,
  listOf,
  number,
  setClock,
  setFormats,
  shortTime,
  timeAgo,
  timeIn,
  timeInColumn,
  timeOfDay,
} from '../../../firmware/chat-page/words/format.ts'
import { leftEnglish } from './left-english.ts'

function leavesOf(value: unknown, path = ''): Map<string, unknown> {
  if (typeof value !== 'object' || value === null) return new Map([[path, value]])
  return new Map(Object.entries(value).flatMap(([name, one]) => [...leavesOf(one, `${path}/${name}`)]))
}

const [english, german] = [leavesOf({ ...en }), leavesOf({ ...de })]

test('German has the words of English and no others', () => {
  assert.deepEqual([...german.keys()].sort(), [...english.keys()].sort())
  assert.ok(english.size > 700)
  for (const [path, text] of german) assert.equal(typeof text, typeof english.get(path), path)
})

test('no sentence is the same in both languages', () => {
  const isSame = ([path, text]: [string, unknown]) => / /.test(String(text)) && text === english.get(path)
  const same = [...german].filter(([path]) => !/^\/(?:clock12|shortcutTexts\/\d+\/0)$/.test(path)).filter(isSame)
  assert.deepEqual(same, [])
})

test('German says du, and writes an ellipsis after a space', () => {
  const texts = readFileSync(new URL('../../../firmware/chat-page/words/de.ts', import.meta.url), 'utf8').split('\n')
  for (const line of texts.slice(1)) {
    assert.doesNotMatch(line, /(?<!['`.!?:] ?)\b(?:Du|Dich|Dir|Dein\w*)\b|\bIhr\b|\bIhnen\b/)
    assert.doesNotMatch(line, /\p{L}…/u)
  }
})

test('dates, numbers and lists are those of the language', () => {
  const shown = () => [number(12_345.6), fileSize(2_500_000), listOf(['a', 'b', 'c']), timeAgo(7300), en.unread(1200)]
  assert.deepEqual(shown(), ['12,345.6', '2.5 MB', 'a, b, c', '2 hours ago', '1,200 unread'])
  setFormats('de')
  assert.deepEqual(shown(), ['12.345,6', '2,5 MB', 'a, b und c', 'vor 2 Stunden', '1.200 unread'])
  setFormats('en')
})

test('times are those of the clock that was chosen, else of the language', () => {
  const time = new Date(2026, 0, 5, 14, 5)
  const shown = () =>
    [timeOfDay(time), timeInColumn(time), shortTime(time, time)].map((text) => text.replace(/\s/u, ' '))
  const [half, whole] = [
    ['2:05 PM', '2:05', '2:05 PM'],
    ['14:05', '14:05', '14:05'],
  ]
  assert.deepEqual(shown(), half)
  setFormats('de')
  assert.deepEqual(shown(), whole)
  setClock(false)
  assert.deepEqual(shown(), half)
  assert.match(dateAndTime(time), /2:05\sPM$/u)
  setFormats('en')
  setClock(true)
  assert.deepEqual(shown(), whole)
  assert.match(dateAndTime(time), /14:05$/)
  assert.match(timeIn(time, Intl.DateTimeFormat().resolvedOptions().timeZone), /14:05$/)
  setClock(null)
  assert.deepEqual(shown(), half)
})

test('English is found among German texts', () => {
  assert.deepEqual(leftEnglish([...german.values()].filter((text): text is string => typeof text === 'string')), [])
  for (const text of [
    en.inbox,
    en.wrongPassword,
    en.unread(3),
    en.joinTitle('Example'),
    en.deviceOn('Firefox', 'Linux'),
  ])
    assert.deepEqual(leftEnglish([text]), [text])
})
