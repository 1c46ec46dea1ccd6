/** How clients write pasted addresses as texts of linkifiers: contract rows E105, E107, E108; levels 471 and 478. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago, hamlet } = chatForEachTest({ iago: 'administrator', hamlet: 'member' })

const BASE = { pattern: '#(?P<id>[0-9]+)', url_template: 'https://tracker.example/{id}' }
const FULL = {
  ...BASE,
  example_input: '#123',
  reverse_template: '#{id}',
  alternative_url_templates: ['https://old.example/t/{id}', 'https://short.example/{id}'],
}

const listed = async (client: Client) => (await client.get('/realm/linkifiers')).linkifiers

test('they are kept, told everywhere a linkifier is, and survive a restart', async () => {
  const { events } = await hamlet.register({
    event_types: ['realm_linkifiers'],
    client_capabilities: { notification_settings_null: true, linkifier_url_template: true },
  })
  const { id } = await iago.post('/realm/filters', FULL)
  const { id: plain } = await iago.post('/realm/filters', { ...BASE, pattern: 'T(?P<id>[0-9]+)' })
  const expected = [
    { id, ...FULL },
    {
      id: plain,
      ...{ pattern: 'T(?P<id>[0-9]+)', url_template: BASE.url_template },
      ...{ example_input: null, reverse_template: null, alternative_url_templates: [] },
    },
  ]
  assert.deepEqual(await listed(hamlet), expected)
  assert.deepEqual((await events()).at(-1).realm_linkifiers, expected)
  rig.reopen()
  assert.deepEqual(await listed(hamlet), expected)
  const { snapshot } = await hamlet.register({
    client_capabilities: { notification_settings_null: true, linkifier_url_template: true },
  })
  assert.deepEqual(snapshot.realm_linkifiers, expected)
  const { rendered } = await hamlet.post('/messages/render', { content: '#7' })
  assert.equal(rendered, '<p><a href="https://tracker.example/7">#7</a></p>')
})

test('a change keeps what it does not name while that fits, and an empty text takes it away', async () => {
  const { id } = await iago.post('/realm/filters', FULL)
  const change = async (values: object) => {
    await iago.patch(`/realm/filters/${id}`, { ...BASE, ...values })
    return (await listed(iago))[0]
  }
  assert.deepEqual(await change({ url_template: 'https://new.example/{id}' }), {
    ...{ id, ...FULL },
    url_template: 'https://new.example/{id}',
  })
  const without = await change({ reverse_template: '', alternative_url_templates: [] })
  assert.deepEqual([without.reverse_template, without.alternative_url_templates], [null, []])
  assert.equal(without.example_input, '#123')
  await change(FULL)
  const other = await change({ pattern: 'T(?P<number>[0-9]+)', url_template: 'https://new.example/{number}' })
  assert.deepEqual(
    [other.example_input, other.reverse_template, other.alternative_url_templates],
    [null, null, []],
    'nothing of them fits the new pattern',
  )
})

for (const [why, wrong] of [
  ['a reverse template without an example', { example_input: '', reverse_template: '#{id}' }],
  ['an example that does not match', { example_input: 'x123' }],
  ['an example of which only a part matches', { example_input: 'see #123' }],
  ['a variable that is no group in the reverse template', { reverse_template: '#{number}' }],
  ['an alternative without the group', { alternative_url_templates: ['https://a.example/'] }],
  ['an alternative with another variable', { alternative_url_templates: ['https://a.example/{id}/{x}'] }],
  ['an alternative that is no template', { alternative_url_templates: ['https://a.example/{id'] }],
  ['an empty alternative', { alternative_url_templates: [''] }],
  [
    'eleven alternatives',
    { alternative_url_templates: Array.from({ length: 11 }, (_, n) => `https://${n}.example/{id}`) },
  ],
  ['a long example', { example_input: `#${'1'.repeat(500)}` }],
  ['a long alternative', { alternative_url_templates: [`https://a.example/${'a'.repeat(1000)}/{id}`] }],
] as const)
  test(`refuses ${why}, and changes nothing`, async () => {
    const { id } = await iago.post('/realm/filters', FULL)
    const before = await listed(iago)
    await iago.refused('BAD_REQUEST', 'PATCH', `/realm/filters/${id}`, { ...FULL, ...wrong })
    await iago.refused('BAD_REQUEST', 'POST', '/realm/filters', { ...FULL, pattern: 'T(?P<id>[0-9]+)', ...wrong })
    assert.deepEqual(await listed(iago), before)
  })

test('ten alternatives are kept', async () => {
  const ten = Array.from({ length: 10 }, (_, n) => `https://${n}.example/{id}`)
  await iago.post('/realm/filters', { ...BASE, alternative_url_templates: ten })
  assert.deepEqual((await listed(iago))[0].alternative_url_templates, ten)
})
