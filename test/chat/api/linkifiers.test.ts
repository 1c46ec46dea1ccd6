/** Linkifiers and playgrounds: contract rows E105 to E109 and E118, V31, V32. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago: admin } = chatForEachTest({ iago: 'administrator' })

const CAPABLE = { client_capabilities: { notification_settings_null: true, linkifier_url_template: true } }
/** Members of reverse linkifiers only: test/chat/api/reverse-linkifiers.test.ts. */
const PLAIN = { example_input: null, reverse_template: null, alternative_url_templates: [] }
const ISSUE = { pattern: '#(?P<id>[0-9]+)', url_template: 'https://issues.example/{id}' }

test('POST /realm/filters, GET /realm/linkifiers: one is made, told to clients that know templates, and links messages and topics', async () => {
  const capable = await rig.owner.register({ event_types: ['realm_linkifiers'], ...CAPABLE })
  const old = await rig.owner.register({ event_types: ['realm_linkifiers'] })
  const { id } = await admin.post('/realm/filters', ISSUE)
  const [event] = await capable.events()
  assert.deepEqual(event.realm_linkifiers, [{ id, ...ISSUE, ...PLAIN }])
  assert.deepEqual(await old.events(), [])
  assert.deepEqual((await rig.owner.get('/realm/linkifiers')).linkifiers, [{ id, ...ISSUE, ...PLAIN }])
  rig.reopen()
  assert.deepEqual((await rig.owner.register(CAPABLE)).snapshot.realm_linkifiers, [{ id, ...ISSUE, ...PLAIN }])
  const { snapshot } = await rig.owner.register()
  assert.deepEqual([snapshot.realm_linkifiers, snapshot.realm_filters], [[], []])

  const channel = rig.channel('play', [rig.owner])
  const sent = await rig.owner.post('/messages', { type: 'stream', to: channel.id, topic: 'see #7', content: 'and #8' })
  const { message } = await rig.owner.get(`/messages/${sent.id}`)
  assert.equal(message.content, '<p>and <a href="https://issues.example/8">#8</a></p>')
  assert.deepEqual(message.topic_links, [{ text: '#7', url: 'https://issues.example/7' }])
})

test('PATCH /realm/linkifiers, PATCH /realm/filters/:filter_id, DELETE /realm/filters/:filter_id: order, change and removal', async () => {
  const ids: number[] = []
  for (const letter of ['a', 'b', 'c'])
    ids.push(
      (
        await admin.post('/realm/filters', {
          pattern: `${letter}(?P<n>\\d+)`,
          url_template: `https://${letter}.example/{n}`,
        })
      ).id,
    )
  const queue = await admin.register({ event_types: ['realm_linkifiers'], ...CAPABLE })
  const [a, b, c] = ids as [number, number, number]
  await admin.patch('/realm/linkifiers', { ordered_linkifier_ids: [c, a, b] })
  const listed = async () => (await admin.get('/realm/linkifiers')).linkifiers.map(({ id }: { id: number }) => id)
  assert.deepEqual(await listed(), [c, a, b])
  for (const wrong of [[c, a], [c, a, b, b], [c, a, a], [c, a, 9999], []])
    await admin.refused('BAD_REQUEST', 'PATCH', '/realm/linkifiers', { ordered_linkifier_ids: wrong })
  await admin.patch(`/realm/filters/${a}`, ISSUE)
  await admin.delete(`/realm/filters/${b}`)
  assert.deepEqual(await listed(), [c, a])
  const events = await queue.events()
  assert.equal(events.length, 3)
  assert.equal(events[2].realm_linkifiers[1].url_template, ISSUE.url_template)
  await admin.refused('BAD_REQUEST', 'DELETE', `/realm/filters/${b}`)
  await admin.refused('BAD_REQUEST', 'PATCH', `/realm/filters/${b}`, ISSUE)
})

const WRONG: [pattern: string, template: string, why: RegExp][] = [
  ['(', 'https://x.example', /regular expression/],
  ['a)(b', 'https://x.example', /regular expression/],
  ['(?=a)', 'https://x.example', /regular expression/],
  ['(a)\\1', 'https://x.example', /regular expression/],
  ['((((a{1000}){1000}){1000}){1000})', 'https://x.example', /regular expression/],
  ['( ?x){300}', 'https://x.example', /too large/],
  ['', 'https://x.example', /regular expression/],
  ['#(?P<id>\\d+)', 'https://x.example/', /not present in URL template/],
  ['#(?P<id>\\d+)', 'https://x.example/{id}{other}', /not present in linkifier pattern/],
  ['#(?P<id>\\d+)', 'https://x.example/{id', /URL template/],
  ['#(?P<id>\\d+)', 'https://x.example/{=id}', /URL template/],
  ['#(?P<id>\\d+)', 'https://x.example/{id,}', /URL template/],
  ['#(?P<id>\\d+)', '', /URL template/],
]
for (const [pattern, url_template, why] of WRONG)
  test(`POST /realm/filters: ${pattern} with ${url_template} is refused`, async () => {
    const { body } = await admin.refused('BAD_REQUEST', 'POST', '/realm/filters', { pattern, url_template })
    assert.match(body.msg, why)
  })

test('POST /realm/filters: templates of RFC 6570 with operators are taken; one pattern is there once, and there are a hundred', async () => {
  await admin.post('/realm/filters', { pattern: '(?P<a>x)(?P<b>y)', url_template: 'https://x.example{/a}{?b*}{#a:3}' })
  await admin.refused('BAD_REQUEST', 'POST', '/realm/filters', {
    pattern: '(?P<a>x)(?P<b>y)',
    url_template: 'https://y.example/{a}{b}',
  })
  for (let count = 1; count < 100; count++)
    await admin.post('/realm/filters', { pattern: `p${count}_`, url_template: 'https://x.example/' })
  await admin.refused('BAD_REQUEST', 'POST', '/realm/filters', ISSUE)
})

test('POST /realm/filters: what a template makes an address of is a link only where it is the address of a page', async () => {
  await admin.post('/realm/filters', { pattern: 'run(?P<x>\\S+)', url_template: 'javascript:{x}' })
  const channel = rig.channel('play', [rig.owner])
  const { id } = await rig.owner.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content: 'runme' })
  assert.doesNotMatch((await rig.owner.get(`/messages/${id}`)).message.content, /javascript/)
})

test('/realm/playgrounds: playgrounds are made, told and removed', async () => {
  const queue = await rig.owner.register({ event_types: ['realm_playgrounds'] })
  const values = { name: 'Rust', pygments_language: 'rust', url_template: 'https://play.example/?code={code}' }
  const { id } = await admin.post('/realm/playgrounds', values)
  assert.deepEqual((await queue.events())[0].realm_playgrounds, [{ id, ...values }])
  assert.deepEqual((await rig.owner.register()).snapshot.realm_playgrounds, [{ id, ...values }])
  await admin.refused('BAD_REQUEST', 'POST', '/realm/playgrounds', values)
  for (const url_template of ['https://play.example/', 'https://play.example/{code}{x}', 'https://play.example/{code'])
    await admin.refused('BAD_REQUEST', 'POST', '/realm/playgrounds', { ...values, name: 'other', url_template })
  await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/realm/playgrounds', { ...values, pygments_language: 'a;b' })
  await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/realm/playgrounds', { ...values, name: ' ' })
  await admin.delete(`/realm/playgrounds/${id}`)
  assert.deepEqual((await queue.events())[0].realm_playgrounds, [])
  await admin.refused('BAD_REQUEST', 'DELETE', `/realm/playgrounds/${id}`)
})
