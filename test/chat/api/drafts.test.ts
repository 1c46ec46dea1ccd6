/** Drafts: contract rows E36 to E39, V10. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const draft = (content: string, timestamp = 1_595_479_019) => ({ type: '', to: [], topic: '', content, timestamp })

describe('/drafts: drafts', () => {
  it('are kept, replaced and removed, told to oneself alone, and there after a restart', async () => {
    const channel = rig.channel('stage', [hamlet])
    const queue = await hamlet.register({ event_types: ['drafts'] })
    const others = await ophelia.register({ event_types: ['drafts'] })
    const input = [
      { ...draft('To be  \n', 30.9), type: 'stream', to: [channel.id], topic: ' soliloquy ' },
      { ...draft('my lord', 20), type: 'private', to: [ophelia.user.id, ophelia.user.id], topic: 'none' },
      { type: 'private', to: [], topic: '', content: 'to whom?' },
    ]
    const { ids } = await hamlet.post('/drafts', { drafts: input })
    const [first, second, third] = ids
    const kept = [
      { id: first, type: 'stream', to: [channel.id], topic: 'soliloquy', content: 'To be', timestamp: 30 },
      { id: second, type: 'private', to: [ophelia.user.id], topic: '', content: 'my lord', timestamp: 20 },
      { id: third, type: 'private', to: [], topic: '', content: 'to whom?', timestamp: Math.floor(rig.now() / 1000) },
    ]
    const byTime = [kept[1], kept[0], kept[2]]
    const answer = await hamlet.get('/drafts')
    assert.deepEqual([answer.count, answer.drafts], [3, byTime])
    assert.deepEqual((await hamlet.register()).snapshot.drafts, byTime)

    const changed = { ...draft('or not to be', 40), id: first }
    await hamlet.patch(`/drafts/${first}`, { draft: draft('or not to be', 40) })
    await hamlet.delete(`/drafts/${second}`)
    const told = (await queue.events()).map(({ id, ...event }) => event)
    assert.deepEqual(told, [
      { type: 'drafts', op: 'add', drafts: kept },
      { type: 'drafts', op: 'update', draft: changed },
      { type: 'drafts', op: 'remove', draft_id: second },
    ])
    assert.deepEqual(await others.events(), [])
    rig.reopen()
    assert.deepEqual((await hamlet.get('/drafts')).drafts, [changed, kept[2]])
    const more = await hamlet.post('/drafts', { drafts: [draft('new')] })
    assert(more.ids[0] > third, 'no id is given twice')
  })

  it('of others are unknown, and so are those that were removed', async () => {
    const { ids } = await hamlet.post('/drafts', { drafts: [draft('mine')] })
    const path = `/drafts/${ids[0]}`
    for (const [client, at] of [[ophelia, path] as const, [hamlet, '/drafts/9999'] as const]) {
      const answer = await client.refused('BAD_REQUEST', 'PATCH', at, { draft: draft('theirs') })
      assert.deepEqual([answer.status, answer.body.msg], [404, 'Draft does not exist'])
      assert.equal((await client.refused('BAD_REQUEST', 'DELETE', at)).status, 404)
    }
    await hamlet.delete(path)
    assert.equal((await hamlet.refused('BAD_REQUEST', 'DELETE', path)).status, 404)
  })

  it('that cannot be are refused, all that came with them too', async () => {
    const secret = rig.channel('secret', [hamlet], { isPrivate: true })
    const before = (await ophelia.get('/drafts')).count
    const refuse = (code: string, value: unknown) =>
      ophelia.refused(code, 'POST', '/drafts', { drafts: [draft('fine'), value] })
    await refuse('BAD_REQUEST', draft(' \n'))
    await refuse('BAD_REQUEST', draft('x', -1))
    await refuse('BAD_REQUEST', { ...draft('x'), type: 'stream' })
    await refuse('BAD_REQUEST', { ...draft('x'), type: 'stream', to: [1, 2] })
    const unseen = await refuse('BAD_REQUEST', { ...draft('x'), type: 'stream', to: [secret.id] })
    const unknown = await refuse('BAD_REQUEST', { ...draft('x'), type: 'stream', to: [9999] })
    assert.equal(unseen.body.msg, unknown.body.msg)
    await refuse('BAD_REQUEST', { ...draft('x'), type: 'private', to: [9999] })
    await refuse('REQUEST_VARIABLE_INVALID', { ...draft('x'), type: 'direct' })
    await refuse('REQUEST_VARIABLE_INVALID', { ...draft('x'), to: ['hamlet'] })
    const many = Array.from({ length: 1001 }, () => draft('x'))
    await ophelia.refused('BAD_REQUEST', 'POST', '/drafts', { drafts: many })
    assert.equal((await ophelia.get('/drafts')).count, before)
  })

  it('stay on each device for users who want that', async () => {
    const horatio = rig.account('horatio')
    const { ids } = await horatio.post('/drafts', { drafts: [draft('mine')] })
    await horatio.patch('/settings', { enable_drafts_synchronization: false })
    assert.deepEqual((await horatio.register()).snapshot.drafts, [])
    await horatio.refused('BAD_REQUEST', 'GET', '/drafts')
    await horatio.refused('BAD_REQUEST', 'POST', '/drafts', { drafts: [] })
    await horatio.refused('BAD_REQUEST', 'PATCH', `/drafts/${ids[0]}`, { draft: draft('x') })
    await horatio.refused('BAD_REQUEST', 'DELETE', `/drafts/${ids[0]}`)
    await horatio.patch('/settings', { enable_drafts_synchronization: true })
    assert.equal((await horatio.get('/drafts')).count, 1)
  })
})
