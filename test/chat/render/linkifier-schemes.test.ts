/** Addresses that linkifiers make are links only with a scheme that links may have, in topics as in messages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompiledLinkifier } from '../../../firmware/chat/render/linkifiers.ts'
import { linksInTopic } from '../../../firmware/chat/render/topic-links.ts'

const linksBy = (urlTemplate: string, topic: string) =>
  linksInTopic(topic, [new CompiledLinkifier({ pattern: '#(?P<id>[^ ]+)', urlTemplate })])

for (const [template, topic] of [
  ['{+id}', '#javascript:alert(1)'],
  ['{+id}', '#JavaScript:alert(1)'],
  ['{+id}', '#data:text/html,x'],
  ['{+id}', '#vbscript:x'],
  ['javascript:{id}', '#1'],
] as const)
  test(`no link for ${topic} by ${template}`, () => assert.deepEqual(linksBy(template, topic), []))

test('an address that may be a link is one', () => {
  assert.deepEqual(linksBy('https://example.org/{id}', 'see #12'), [{ text: '#12', url: 'https://example.org/12' }])
})
