/** Words that are begun at the cursor, and widgets from submessages of any client: firmware/chat-page/model, which needs no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readBegun } from '../../../firmware/chat-page/model/completion.ts'
import { nextIndex, readWidget } from '../../../firmware/chat-page/model/widgets.ts'

const begun = (text: string) => {
  const found = readBegun(text, text.length)
  return found && [found.kind, found.text, found.start]
}

test('a sign at the beginning of a word begins something', () => {
  assert.deepEqual(begun('@'), ['person', '', 0])
  assert.deepEqual(begun('Hello @Ol'), ['person', 'Ol', 6])
  assert.deepEqual(begun('(@_**Olivia O'), ['person', 'Olivia O', 1])
  assert.deepEqual(begun('a\n#op'), ['channel', 'op', 2])
  assert.deepEqual(begun('see #ops>back ups'), ['topic', 'back ups', 4])
  assert.deepEqual(begun('see #**two words>x'), ['topic', 'x', 4])
  assert.deepEqual(begun('so :smi'), ['emoji', 'smi', 3])
  assert.deepEqual(begun('/po'), ['command', 'po', 0])
  for (const text of [
    '',
    'a@b',
    'x:y',
    ': ',
    ':s',
    'a /me',
    'x\n/me',
    '@**Olivia** ',
    '#**ops** ',
    'https://x#a',
    '12:30',
  ])
    assert.equal(begun(text), null, text)
})

test('what is begun lies before the cursor, whatever is typed', () => {
  const sign = fc.constantFrom('@', '#', ':', '*', '**', '_', '>', ' ', '\n', '/', 'a', 'é', '\u{1f642}', 'poll')
  fc.assert(
    fc.property(fc.array(sign, { maxLength: 30 }), fc.nat(), (signs, at) => {
      const text = signs.join('')
      const cursor = Math.min(at % (text.length + 1), text.length)
      const found = readBegun(text, cursor)
      if (found === null) return
      assert.ok(found.start >= 0 && found.start < cursor)
      assert.ok(text.slice(found.start, cursor).endsWith(found.text))
      assert.ok(!text.slice(found.start, cursor).includes('\n'))
    }),
  )
})

const AUTHOR = 7
const widget = (...contents: [sender: number, content: unknown][]) =>
  readWidget(
    contents.map(([sender, content], id) => ({
      ...{ id, sender_id: sender, msg_type: 'widget' },
      content: typeof content === 'string' ? content : JSON.stringify(content),
    })),
    AUTHOR,
  )
const POLL = { widget_type: 'poll', extra_data: { question: 'When?', options: ['a', 'b'] } }

test('votes of a poll are of those who have them last; options are there once', () => {
  const poll = widget(
    [AUTHOR, POLL],
    [8, { type: 'vote', key: 'canned,0', vote: 1 }],
    [9, { type: 'vote', key: 'canned,0', vote: 1 }],
    [8, { type: 'vote', key: 'canned,0', vote: -1 }],
    [8, { type: 'new_option', option: 'c', idx: 1 }],
    [9, { type: 'new_option', option: 'c', idx: 1 }],
    [9, { type: 'vote', key: '8,1', vote: 1 }],
    [9, { type: 'question', question: 'of nobody' }],
    [AUTHOR, { type: 'question', question: 'Who?' }],
  )
  assert.deepEqual(poll, {
    kind: 'poll',
    question: 'Who?',
    options: [
      { key: 'canned,0', text: 'a', voters: [9] },
      { key: 'canned,1', text: 'b', voters: [] },
      { key: '8,1', text: 'c', voters: [9] },
    ],
  })
  assert.equal(nextIndex(['canned,0', '8,1', '8,4', '9,7'], 8), 5)
  assert.equal(nextIndex(['canned,0'], 8), 1)
})

test('only the author begins a widget, and what is none is the text of the message', () => {
  assert.equal(widget([8, POLL]), null)
  assert.equal(widget(), null)
  for (const content of ['', '{', 'null', '[]', '1', '{"widget_type":"other"}'])
    assert.equal(widget([AUTHOR, content]), null)
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.jsonValue())),
      fc.constantFrom('poll', 'todo', 'zform'),
      (acts, type) => {
        for (const data of [undefined, null, 1, 'x', [], {}, { options: 1, tasks: 'x', choices: {} }])
          assert.ok(widget([AUTHOR, { widget_type: type, extra_data: data }], ...acts) !== null)
      },
    ),
  )
})
