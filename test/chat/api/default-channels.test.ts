/** Channels for new members: contract rows E61, E62, V7, V8 and the block default_stream_groups. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, polonius } = await chatSuite({ hamlet: 'member', polonius: 'guest' })
const make = (name: string, isPrivate = false) => rig.channel(name, [hamlet], { isPrivate }).id
const ids: Record<string, number> = {
  verona: make('verona'),
  venice: make('venice'),
  padua: make('padua'),
  secret: make('secret', true),
}

describe('/default_streams: default channels', () => {
  it('are set and taken back, which members are told, and new people find themselves in them', async () => {
    const [member, guest] = await Promise.all(
      [hamlet, polonius].map((client) => client.register({ event_types: ['default_streams'] })),
    )
    for (const name of ['verona', 'verona', 'venice'])
      await rig.owner.post('/default_streams', { stream_id: ids[name] })
    await rig.owner.delete('/default_streams', { stream_id: ids.venice })
    await rig.owner.delete('/default_streams', { stream_id: ids.venice })
    assert.deepEqual(
      (await member!.events()).map(({ default_streams }) => default_streams),
      [[ids.verona], [ids.verona, ids.venice], [ids.verona]],
    )
    assert.deepEqual(await guest!.events(), [])
    const { user_id } = await rig.owner.post('/users', {
      email: 'ophelia@example.com',
      password: 'long enough text',
      full_name: 'Ophelia',
    })
    const { subscribers } = await hamlet.get(`/streams/${ids.verona}/members`)
    assert.ok(subscribers.includes(user_id))
    await rig.owner.delete('/default_streams', { stream_id: ids.verona })
  })

  it('are neither private nor archived', async () => {
    await rig.owner.refused('BAD_REQUEST', 'POST', '/default_streams', { stream_id: ids.secret })
    await rig.owner.refused('BAD_REQUEST', 'POST', '/default_streams', { stream_id: 9999 })
    const old = rig.channel('old', [], { isArchived: true })
    await rig.owner.refused('BAD_REQUEST', 'POST', '/default_streams', { stream_id: old.id })
  })
})

describe('/default_stream_groups: groups of channels for new members', () => {
  it('are made, changed and removed, which members are told, and are there after a restart', async () => {
    const [member, guest] = await Promise.all(
      [hamlet, polonius].map((client) => client.register({ event_types: ['default_stream_groups'] })),
    )
    const create = { group_name: ' Italy ', description: 'cities', stream_names: ['venice', 'VERONA'] }
    await rig.owner.post('/default_stream_groups/create', create)
    const { snapshot } = await hamlet.register()
    const [{ id }] = snapshot.realm_default_stream_groups
    const italy = { id, name: 'Italy', description: 'cities', streams: [ids.verona, ids.venice] }
    assert.deepEqual(snapshot.realm_default_stream_groups, [italy])
    await rig.owner.patch(`/default_stream_groups/${id}/streams`, { op: 'add', stream_names: ['padua'] })
    await rig.owner.patch(`/default_stream_groups/${id}/streams`, { op: 'remove', stream_names: ['venice'] })
    await rig.owner.patch(`/default_stream_groups/${id}`, { new_group_name: 'Veneto', new_description: 'in the north' })
    await rig.owner.delete(`/streams/${ids.padua}`)
    rig.reopen()
    const veneto = { id, name: 'Veneto', description: 'in the north', streams: [ids.verona] }
    assert.deepEqual((await hamlet.register()).snapshot.realm_default_stream_groups, [veneto])
    assert.deepEqual((await polonius.register()).snapshot.realm_default_stream_groups, [])
    await rig.owner.delete(`/default_stream_groups/${id}`)
    assert.deepEqual(
      (await member!.events()).map(({ default_stream_groups }) => default_stream_groups),
      [
        [italy],
        [{ ...italy, streams: [ids.verona, ids.venice, ids.padua] }],
        [{ ...italy, streams: [ids.verona, ids.padua] }],
        [{ ...veneto, streams: [ids.verona, ids.padua] }],
        [veneto],
        [],
      ],
    )
    assert.deepEqual(await guest!.events(), [])
  })

  it('refuse what is no name, no channel, or there already', async () => {
    const refuse = (method: string, path: string, values: Record<string, unknown>, code = 'BAD_REQUEST') =>
      rig.owner.refused(code, method, `/default_stream_groups/${path}`, values)
    const values = { group_name: 'Greece', description: '', stream_names: ['verona'] }
    await rig.owner.post('/default_stream_groups/create', values)
    const [{ id }] = (await hamlet.register()).snapshot.realm_default_stream_groups
    await refuse('POST', 'create', { ...values, group_name: 'GREECE' })
    await refuse('POST', 'create', { ...values, group_name: ' ' })
    await refuse('POST', 'create', { ...values, group_name: 'x'.repeat(61) })
    await refuse('POST', 'create', { ...values, group_name: 'y', stream_names: ['nowhere'] }, 'STREAM_DOES_NOT_EXIST')
    await refuse('PATCH', `${id}`, {})
    await refuse('PATCH', `${id}`, { new_group_name: 'Greece' })
    await refuse('PATCH', '9999', { new_group_name: 'Other' })
    await refuse('PATCH', `${id}/streams`, { op: 'add', stream_names: ['verona'] })
    await refuse('PATCH', `${id}/streams`, { op: 'remove', stream_names: ['venice'] })
    await refuse('PATCH', `${id}/streams`, { op: 'other', stream_names: [] }, 'REQUEST_VARIABLE_INVALID')
    await rig.owner.post('/default_streams', { stream_id: ids.venice })
    await refuse('PATCH', `${id}/streams`, { op: 'add', stream_names: ['venice'] })
    await refuse('DELETE', '9999', {})
  })
})
