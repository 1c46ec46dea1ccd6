/** Each recorded payload becomes its text, which is rendered without breaking out of its place. Contract section 3.5.2. */

import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { AnomalousPayload, UnsupportedEvent } from '../../../firmware/chat/external/integration.ts'
import { INTEGRATIONS } from '../../../firmware/chat/external/integrations.ts'
import { contractTable } from '../support/contract.ts'
import { DEFAULTS, integrationOf, pageOf, RECORDED, read } from './payloads.ts'

describe('recorded payloads become their texts', () => {
  for (const recorded of RECORDED)
    it(`${recorded.integration.name}: ${recorded.name}`, () => {
      assert.equal(pageOf(recorded.integration, read(recorded)), recorded.text)
    })
})

test('each event of each integration has a recorded payload', () => {
  for (const { name, events } of INTEGRATIONS) {
    const seen = new Set(RECORDED.filter(({ integration }) => integration.name === name).map((one) => read(one).event))
    if (events === null) assert.deepEqual([...seen], [null], name)
    else assert.deepEqual([...seen].sort(), [...events].sort(), name)
  }
})

test('the integrations are those of the contract, with its events, headers, mentions and parameters', () => {
  const rows = contractTable('3.5.2').filter(([name]) => INTEGRATIONS.some((one) => one.name === name))
  assert.deepEqual(rows.map(([name]) => name).sort(), INTEGRATIONS.map(({ name }) => name).sort())
  const ofGitea = rows.find(([name]) => name === 'gitea')![2]!
  for (const [name, source, events, , mentions, parameters] of rows) {
    const integration = integrationOf(name!)
    assert.equal(integration.mentions, mentions, name)
    if (integration.eventHeader !== undefined) assert.equal(integration.eventHeader, source, name)
    const listed = events === 'as gitea' ? ofGitea : events!
    assert.equal(
      listed === '—' ? null : listed.split(', ').sort().join(),
      integration.events?.toSorted().join() ?? null,
      name,
    )
    for (const { key } of integration.urlOptions ?? []) assert.match(parameters!, new RegExp(`\\b${key}\\b`), name)
  }
})

test('every integration refuses payloads of other shapes as anomalous, and throws nothing else', () => {
  const shapes = [
    null,
    7,
    '',
    'text',
    [],
    {},
    { alerts: [] },
    { action: 'opened' },
    { heartbeat: 1 },
    { text: 5 },
    { __proto__: null, ref: {} },
  ]
  for (const integration of INTEGRATIONS)
    for (const event of integration.events ?? [''])
      for (const payload of shapes) {
        if (integration.name === 'json' && typeof payload === 'object' && payload !== null && !Array.isArray(payload))
          continue
        if (event === 'ping') continue // any object is a good one
        assert.throws(
          () => integration.read({ payload, event, options: DEFAULTS }),
          AnomalousPayload,
          `${integration.name} ${event} ${JSON.stringify(payload)}`,
        )
      }
})

test('an unknown event and an unknown action are told by name, inherited names included', () => {
  const issue = RECORDED.find(({ integration, name }) => integration.name === 'github' && name === 'issues.opened')!
  const isOf = (type: string) => (error: unknown) => error instanceof UnsupportedEvent && error.type === type
  assert.throws(() => read({ ...issue, event: 'star' }), isOf('star'))
  assert.throws(() => read({ ...issue, event: 'constructor' }), isOf('constructor'))
  assert.throws(
    () => read({ ...issue, payload: { ...(issue.payload as object), action: 'archived' } }),
    isOf('issues:archived'),
  )
  const merge = RECORDED.find(({ name }) => name === 'merge-request-hook')!
  const { object_attributes: attributes } = merge.payload as { object_attributes: object }
  const payload = { ...(merge.payload as object), object_attributes: { ...attributes, action: 'toString' } }
  assert.throws(() => read({ ...merge, payload }), isOf('Merge Request Hook:toString'))
})

test('branches: only pushes to these are sent; tags and other events always', () => {
  const pushes = RECORDED.filter(({ name }) => /^push(?:-hook)?$/.test(name))
  assert.equal(pushes.length, 5)
  for (const push of pushes) {
    assert.equal(read(push, { branches: 'release' }).messages.length, 0, push.integration.name)
    assert.equal(read(push, { branches: 'release , main' }).messages.length, 1, push.integration.name)
    assert.equal(read(push, { branches: '' }).messages.length, 1, push.integration.name)
  }
  for (const name of ['push.tag', 'tag-push-hook', 'issues.opened'])
    assert.equal(read(RECORDED.find((one) => one.name === name)!, { branches: 'release' }).messages.length, 1, name)
})

test('alertmanager: alerts are grouped by the label `name`, each shown by the label or annotation `desc`', () => {
  const firing = RECORDED.find(({ integration, name }) => integration.name === 'alertmanager' && name === 'firing')!
  const byJob = read(firing, { name: 'alertname', desc: 'summary' }).messages
  assert.deepEqual(
    byJob.map(({ topic }) => topic),
    ['InstanceDown', 'DiskFull'],
  )
  assert.match(byJob[0]!.text, /^:alert: \*\*Firing\*\*: db-1 does not answer /)
  assert.deepEqual(
    read(firing, { name: 'toString' }).messages.map(({ topic }) => topic),
    ['InstanceDown', 'DiskFull'],
  )
})

test('a storm of alerts becomes at most ten messages of at most fifty alerts, which say what they leave out', () => {
  const alerts = Array.from({ length: 1200 }, (_, index) => ({
    status: 'firing',
    labels: { alertname: 'Slow', instance: `web-${index % 12}` },
  }))
  const { messages } = integrationOf('alertmanager').read({ payload: { alerts }, event: '', options: DEFAULTS })
  assert.equal(messages.length, 10)
  for (const { text } of messages) {
    assert.equal(text.match(/\*\*Firing\*\*/g)!.length, 50)
    assert.match(text, /50 more of these alerts are not shown\./)
  }
  assert.match(messages[9]!.text, /200 alerts of other topics are not shown\.$/)
  assert.doesNotMatch(messages[8]!.text, /other topics/)
})
