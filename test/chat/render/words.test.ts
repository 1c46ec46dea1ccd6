import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlertWords } from '../../../firmware/chat/render/alert-words.ts'
import { linksInTopic } from '../../../firmware/chat/render/topic-links.ts'
import { rendered, settings } from './support.ts'

const words = new AlertWords([
  [1, 'Coffer'],
  [2, 'power cut'],
  [3, 'cut'],
  [4, 'c++'],
])
const alerted = (text: string) => [...words.usersOf(rendered(text).alertText)].sort()

const ALERTS: [string, number[]][] = [
  ['COFFER!', [1]],
  ['a power cut, again', [2, 3]],
  ['shortcut cutter', []],
  ['(cut) *coffer*', [1, 3]],
  ['cofferdam', []],
  ['c++', [4]],
  ['```\ncut\n```', []],
  ['```quote\ncut\n```', [3]],
  ['> a `cut`', [3]],
]
for (const [text, users] of ALERTS)
  test(`alert words in ${JSON.stringify(text)}`, () => {
    assert.deepEqual(alerted(text), users)
  })

const TOPICS: [string, { text: string; url: string }[]][] = [
  [
    'about #12 and #13',
    [
      { text: '#12', url: 'https://trac.example.com/ticket/12' },
      { text: '#13', url: 'https://trac.example.com/ticket/13' },
    ],
  ],
  ['lib#3', [{ text: 'lib#3', url: 'https://git.example.com/lib/3' }]],
  [
    'see example.com/a, http://b.example',
    [
      { text: 'example.com/a', url: 'https://example.com/a' },
      { text: 'http://b.example', url: 'http://b.example' },
    ],
  ],
  ['nothing', []],
]
for (const [topic, links] of TOPICS)
  test(`links in the topic ${topic}`, () => {
    assert.deepEqual(linksInTopic(topic, settings.linkifiers), links)
  })
