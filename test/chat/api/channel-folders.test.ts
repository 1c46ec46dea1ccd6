/** Folders of channels: contract rows E63 to E66, V3 to V5, the block channel_folders. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, polonius } = await chatSuite({ hamlet: 'member', polonius: 'guest' })

const create = async (name: string, description?: string): Promise<number> =>
  (await rig.owner.post('/channel_folders/create', { name, description })).channel_folder_id

describe('Channel folders', () => {
  it('are made, changed and put in order, and everybody is told (E63, E64, E65, E66; V3, V4, V5)', async () => {
    const queue = await hamlet.register({ event_types: ['channel_folder'] })
    const plays = await create(' Plays ', 'of *Shakespeare*')
    const poems = await create('Poems')
    await rig.owner.patch(`/channel_folders/${poems}`, { name: 'Sonnets', description: 'and **more**' })
    await rig.owner.patch(`/channel_folders/${poems}`, { name: 'Sonnets' })
    await rig.owner.patch('/channel_folders', { order: [poems, plays] })
    await rig.owner.patch('/channel_folders', { order: [poems, plays] })
    await rig.owner.patch(`/channel_folders/${plays}`, { is_archived: true })
    const made = { date_created: Math.floor(rig.now() / 1000), creator_id: rig.owner.user.id, is_archived: false }
    const folder = {
      id: plays,
      name: 'Plays',
      description: 'of *Shakespeare*',
      rendered_description: '<p>of <em>Shakespeare</em></p>',
      ...made,
      order: 0,
    }
    const other = { id: poems, name: 'Poems', description: '', rendered_description: '', ...made, order: 1 }
    const type = 'channel_folder'
    const described = { description: 'and **more**', rendered_description: '<p>and <strong>more</strong></p>' }
    assert.deepEqual(
      (await queue.events()).map(({ id, ...event }) => event),
      [
        { type, op: 'add', channel_folder: folder },
        { type, op: 'add', channel_folder: other },
        { type, op: 'update', channel_folder_id: poems, data: { name: 'Sonnets', ...described } },
        { type, op: 'reorder', order: [poems, plays] },
        { type, op: 'update', channel_folder_id: plays, data: { is_archived: true } },
      ],
    )
    rig.reopen()
    const sonnets = { ...other, name: 'Sonnets', ...described, order: 0 }
    const archived = { ...folder, order: 1, is_archived: true }
    assert.deepEqual((await hamlet.get('/channel_folders')).channel_folders, [sonnets])
    const all = [sonnets, archived]
    assert.deepEqual((await hamlet.get('/channel_folders', { include_archived: true })).channel_folders, all)
    assert.deepEqual((await hamlet.register()).snapshot.channel_folders, all)
  })

  it('have names of their own, and none that is too long (E64, E66)', async () => {
    const first = await create('History')
    await rig.owner.refused('BAD_REQUEST', 'POST', '/channel_folders/create', { name: 'HISTORY' })
    await rig.owner.refused('BAD_REQUEST', 'POST', '/channel_folders/create', { name: ' ' })
    await rig.owner.refused('BAD_REQUEST', 'POST', '/channel_folders/create', { name: 'x'.repeat(61) })
    const long = { name: 'y', description: 'x'.repeat(1025) }
    await rig.owner.refused('BAD_REQUEST', 'POST', '/channel_folders/create', long)
    await rig.owner.patch(`/channel_folders/${first}`, { is_archived: true })
    const second = await create('History')
    await rig.owner.refused('BAD_REQUEST', 'PATCH', `/channel_folders/${first}`, { is_archived: false })
    await rig.owner.patch(`/channel_folders/${second}`, { name: 'Histories' })
    await rig.owner.patch(`/channel_folders/${first}`, { is_archived: false })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', `/channel_folders/${second}`, { name: 'history' })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', '/channel_folders/9999', { name: 'other' })
  })

  it('are ordered as a whole, and kept while a channel is in them (E65, E66)', async () => {
    const inUse = await create('In use')
    const { channel_folders } = await hamlet.get('/channel_folders', { include_archived: true })
    const ids: number[] = channel_folders.map(({ id }: { id: number }) => id)
    for (const order of [ids.slice(1), [...ids, 9999], [...ids, ids[0]], ids.with(0, 9999)])
      await rig.owner.refused('BAD_REQUEST', 'PATCH', '/channel_folders', { order })
    const channel = rig.channel('verona', [hamlet])
    await rig.owner.patch(`/streams/${channel.id}`, { folder_id: inUse })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', `/channel_folders/${inUse}`, { is_archived: true })
    await rig.owner.patch(`/streams/${channel.id}`, { folder_id: null })
    await rig.owner.patch(`/channel_folders/${inUse}`, { is_archived: true })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', `/streams/${channel.id}`, { folder_id: inUse })
  })

  it('are seen by guests as far as they see channels of them (E63)', async () => {
    const [seen, hidden] = [await create('Seen'), await create('Hidden')]
    const queue = await polonius.register({ event_types: ['channel_folder'] })
    const [mine, other] = [rig.channel('mine', []), rig.channel('other', [])]
    await rig.owner.patch(`/streams/${mine.id}`, { folder_id: seen })
    await rig.owner.patch(`/streams/${other.id}`, { folder_id: hidden })
    assert.deepEqual((await polonius.get('/channel_folders')).channel_folders, [])
    await rig.owner.post('/users/me/subscriptions', {
      subscriptions: [{ name: 'mine' }],
      principals: [polonius.user.id],
    })
    await rig.owner.patch(`/channel_folders/${hidden}`, { name: 'Well hidden' })
    await rig.owner.patch(`/channel_folders/${seen}`, { name: 'Well seen' })
    assert.deepEqual(
      (await queue.events()).map(({ op, channel_folder_id: id }) => [op, id]),
      [
        ['add', undefined],
        ['update', seen],
      ],
    )
    const ids = (folders: { id: number }[]) => folders.map(({ id }) => id)
    assert.deepEqual(ids((await polonius.get('/channel_folders')).channel_folders), [seen])
    assert.deepEqual(ids((await polonius.register()).snapshot.channel_folders), [seen])
  })
})
