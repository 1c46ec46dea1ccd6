/** Searches as people type them, as narrows, and as addresses: firmware/chat-page/model/search.ts, which needs no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readPlace } from '../../../firmware/chat-page/model/conversation.ts'
import { createRealmView } from '../../../firmware/chat-page/model/realm.ts'
import {
  readSearch,
  searchAddress,
  searchOfPath,
  suggestTerms,
  writeSearch,
} from '../../../firmware/chat-page/model/search.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('night watch', [hamlet, ophelia])
const realm = createRealmView((await hamlet.register()).snapshot)
const name = realm.people.get(ophelia.user.id)!.full_name

test('names become ids, quotes hold words together, and what is no operator is searched for', () => {
  assert.deepEqual(readSearch(`channel:"night watch" from:"${name}" -is:starred the "old ghost" http://x`, realm), [
    { operator: 'channel', operand: channel.id },
    { operator: 'sender', operand: ophelia.user.id },
    { operator: 'is', operand: 'starred', negated: true },
    { operator: 'search', operand: 'the "old ghost" http://x' },
  ])
  assert.deepEqual(readSearch(`dm:"me,${name}"`, realm), [
    { operator: 'dm', operand: [hamlet.user.id, ophelia.user.id] },
  ])
  assert.deepEqual(readSearch(`dm:"${name}"`, realm), [{ operator: 'dm', operand: [ophelia.user.id] }])
  assert.deepEqual(readSearch('from:nobody', realm), [{ operator: 'sender', operand: 'nobody' }])
  assert.deepEqual(readSearch('  ', realm), [])
})

test('the server takes every term that a text becomes', async () => {
  await ophelia.post('/messages', {
    type: 'stream',
    to: channel.id,
    topic: 'Ghost',
    content: 'Who is there? https://x.example',
  })
  for (const text of [
    'ghost',
    `from:"${name}"`,
    'from:me',
    'channel:"night watch"',
    'topic:Ghost has:link',
    'is:unread -is:starred',
    'in:home',
    `dm-including:"${name}"`,
    `mentions:"${name}"`,
    'id:1',
    '-has:reaction',
  ]) {
    const narrow = readSearch(text, realm)
    assert.ok((narrow.length > 0 && narrow[0]!.operator !== 'search') || text === 'ghost', text)
    await hamlet.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0, narrow: JSON.stringify(narrow) })
  }
})

test('a search survives its address and its text', () => {
  const words = fc.string({ unit: 'grapheme', minLength: 1 }).map((text) => text.replace(/["\s:]/g, 'x'))
  const term = fc.oneof(
    fc.constantFrom('starred', 'unread').map((operand) => ({ operator: 'is', operand })),
    words.map((operand) => ({ operator: 'topic', operand, negated: true as const })),
    fc.constant({ operator: 'sender', operand: ophelia.user.id }),
    fc.constant({ operator: 'channel', operand: channel.id }),
  )
  fc.assert(
    fc.property(fc.array(term, { minLength: 1, maxLength: 4 }), words, (terms, search) => {
      const all = [...terms, { operator: 'search', operand: search }]
      const place = readPlace(searchAddress(all), hamlet.user.id)
      assert.ok(place.view === 'area' && place.area === 'search')
      assert.deepEqual(searchOfPath(place.path), all)
      assert.deepEqual(readSearch(writeSearch(all, realm), realm), all)
    }),
  )
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void readSearch(text, realm)))
  fc.assert(fc.property(fc.array(fc.string({ unit: 'binary' })), (path) => void searchOfPath(path)))
})

test('the term at the cursor is completed', () => {
  const labels = (text: string) => suggestTerms(realm, text, text.length, {})?.all.map(({ insert }) => insert)
  assert.deepEqual(labels('ha'), ['has:'])
  assert.deepEqual(labels('word -i'), ['-is:', '-in:', '-id:'])
  assert.deepEqual(labels('is:un'), ['is:unread '])
  assert.deepEqual(labels('from:me'), ['sender:me '])
  assert.deepEqual(labels('channel:nig'), ['channel:"night watch" '])
  assert.deepEqual(labels('channel:"night w'), ['channel:"night watch" '])
  assert.equal(labels('has:link '), undefined)
  assert.deepEqual(suggestTerms(realm, 'x is:un', 7, {})?.start, 2)
})
