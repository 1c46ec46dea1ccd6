/** Custom profile fields: contract rows E72, E86 and E117, V6, V34. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago: admin, hamlet } = chatForEachTest({ iago: 'administrator', hamlet: 'member' })

const add = async (values: object): Promise<number> =>
  (await admin.post('/realm/profile_fields', { name: 'Field', ...values })).id
const CHOICES = { 0: { text: 'Vim', order: '1' }, 1: { text: 'Emacs', order: '2' } }
const profileOf = async (user: Client) =>
  (await admin.get(`/users/${user.user.id}`, { include_custom_profile_fields: true })).user.profile_data

describe('/realm/profile_fields: fields', () => {
  it('are made, changed, ordered and removed, and all of them told each time', async () => {
    const queue = await hamlet.register({ event_types: ['custom_profile_fields'] })
    const phone = await add({ field_type: 1, name: ' Phone ', hint: 'with its code', required: true })
    const editor = await add({
      field_type: 3,
      name: 'Editor',
      field_data: CHOICES,
      display_in_profile_summary: true,
      editable_by_user: false,
    })
    const expected = [
      {
        id: phone,
        type: 1,
        order: 1,
        name: 'Phone',
        hint: 'with its code',
        field_data: '',
        required: true,
        editable_by_user: true,
      },
      {
        id: editor,
        type: 3,
        order: 2,
        name: 'Editor',
        hint: '',
        field_data: JSON.stringify(CHOICES),
        display_in_profile_summary: true,
        required: false,
        editable_by_user: false,
      },
    ]
    assert.deepEqual((await hamlet.get('/realm/profile_fields')).custom_fields, expected)
    assert.deepEqual((await queue.events()).at(-1).fields, expected)
    rig.reopen()
    const { snapshot } = await hamlet.register()
    assert.deepEqual(snapshot.custom_profile_fields, expected)
    assert.equal(snapshot.custom_profile_field_types.PRONOUNS.id, 8)

    await admin.patch('/realm/profile_fields', { order: [editor, phone] })
    await admin.patch(`/realm/profile_fields/${phone}`, { name: 'Telephone', required: false })
    const [first, second] = (await hamlet.get('/realm/profile_fields')).custom_fields
    assert.deepEqual(
      [first.id, second.name, second.required, second.hint],
      [editor, 'Telephone', false, 'with its code'],
    )
    await admin.delete(`/realm/profile_fields/${editor}`)
    const events = await queue.events()
    assert.deepEqual(
      events.map(({ fields }) => fields.length),
      [2, 2, 1],
    )
    for (const [method, path, values] of [
      ['PATCH', `/realm/profile_fields/${editor}`, {}],
      ['DELETE', `/realm/profile_fields/${editor}`, {}],
      ['PATCH', '/realm/profile_fields', { order: [] }],
      ['PATCH', '/realm/profile_fields', { order: [phone, phone] }],
    ] as const)
      await admin.refused('BAD_REQUEST', method, path, values)
  })

  it('without a name, with one that is taken, or with data that mean nothing are refused', async () => {
    await add({ field_type: 1, name: 'Phone' })
    const wrong: object[] = [
      { field_type: 1, name: ' ' },
      { field_type: 1, name: 'Phone' },
      { field_type: 1, name: 'x'.repeat(41) },
      { field_type: 1, name: 'x', hint: 'x'.repeat(81) },
      { field_type: 9, name: 'x' },
      { field_type: 3, name: 'x' },
      { field_type: 3, name: 'x', field_data: {} },
      { field_type: 3, name: 'x', field_data: { 0: { text: '', order: '1' } } },
      { field_type: 3, name: 'x', field_data: { 0: { text: 'a', order: '1' }, 1: { text: 'a', order: '2' } } },
      { field_type: 7, name: 'x', field_data: { subtype: 'myspace' } },
      { field_type: 7, name: 'x', field_data: { subtype: 'custom', url_pattern: 'https://x.example/' } },
      { field_type: 7, name: 'x', field_data: { subtype: 'custom', url_pattern: 'javascript:%(username)s' } },
      { field_type: 6, name: 'x', display_in_profile_summary: true },
    ]
    for (const values of wrong) {
      const { status } = await admin.call('POST', '/realm/profile_fields', values as Record<string, unknown>)
      assert.equal(status, 400, JSON.stringify(values))
    }
    assert.equal((await admin.get('/realm/profile_fields')).custom_fields.length, 1)
  })

  it('of accounts elsewhere that everybody knows bring their names', async () => {
    const id = await add({ field_type: 7, name: 'ignored', field_data: { subtype: 'github' } })
    const [field] = (await admin.get('/realm/profile_fields')).custom_fields
    assert.deepEqual([field.id, field.name, field.field_data], [id, 'GitHub username', '{"subtype":"github"}'])
    assert.equal((await admin.register()).snapshot.realm_default_external_accounts.github.text, 'GitHub')
    await add({
      field_type: 7,
      name: 'Forge',
      field_data: { subtype: 'custom', url_pattern: 'https://x.example/%(username)s' },
    })
  })

  it('at most two are in the summary', async () => {
    for (const name of ['a', 'b']) await add({ field_type: 1, name, display_in_profile_summary: true })
    await admin.refused('BAD_REQUEST', 'POST', '/realm/profile_fields', {
      field_type: 1,
      name: 'c',
      display_in_profile_summary: true,
    })
    const third = await add({ field_type: 1, name: 'c' })
    await admin.refused('BAD_REQUEST', 'PATCH', `/realm/profile_fields/${third}`, { display_in_profile_summary: true })
  })
})

describe('/users/me/profile_data, PATCH /users/:user_id: values', () => {
  it('are at most a hundred at once, since everybody hears of each', async () => {
    const data = Array.from({ length: 101 }, () => ({ id: 1, value: null }))
    const path = '/users/me/profile_data'
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', path, { data })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'DELETE', path, { data: data.map(({ id }) => id) })
  })

  const TYPES: [type: number, data: object | undefined, good: unknown, bad: unknown[]][] = [
    [1, undefined, 'x'.repeat(50), ['x'.repeat(51), [1]]],
    [2, undefined, 'x'.repeat(500), ['x'.repeat(501)]],
    [3, CHOICES, '1', ['2', 'Vim', [0]]],
    [4, undefined, '2024-02-29', ['2023-02-29', '29.2.2024', '2024-2-1', 'x']],
    [5, undefined, 'https://x.example/a', ['x.example', 'javascript:alert(1)', 'ftp://x.example']],
    [7, { subtype: 'github' }, 'hamlet', ['x'.repeat(51)]],
    [8, undefined, 'they', ['x'.repeat(51)]],
  ]
  for (const [field_type, field_data, good, bad] of TYPES)
    it(`of type ${field_type} are kept, told to others and removed`, async () => {
      const id = await add({ field_type, ...(field_data && { field_data }) })
      const queue = await rig.owner.register({ event_types: ['realm_user'] })
      for (const value of bad)
        await hamlet.refused('BAD_REQUEST', 'PATCH', '/users/me/profile_data', { data: [{ id, value }] })
      await hamlet.patch('/users/me/profile_data', { data: [{ id, value: good }] })
      const shown = { value: good, ...(field_type <= 2 && { rendered_value: `<p>${good}</p>` }) }
      assert.deepEqual(await profileOf(hamlet), { [id]: shown })
      rig.reopen()
      assert.deepEqual(await profileOf(hamlet), { [id]: shown })
      await hamlet.delete('/users/me/profile_data', { data: [id] })
      assert.deepEqual(await profileOf(hamlet), {})
      await hamlet.delete('/users/me/profile_data', { data: [id] })
      const told = (await queue.events()).map(({ person }) => person)
      assert.deepEqual(told, [
        { user_id: hamlet.user.id, custom_profile_field: { id, ...shown } },
        { user_id: hamlet.user.id, custom_profile_field: { id, value: null } },
      ])
    })

  it('of people are a list of those that there are', async () => {
    const id = await add({ field_type: 6 })
    await hamlet.patch('/users/me/profile_data', { data: [{ id, value: [admin.user.id, admin.user.id] }] })
    assert.deepEqual(await profileOf(hamlet), { [id]: { value: `[${admin.user.id}]` } })
    const bot = (await hamlet.post('/bots', { full_name: 'Robot', short_name: 'robot' })).user_id
    for (const value of [[9999], [bot], 'x'])
      await hamlet.refused('BAD_REQUEST', 'PATCH', '/users/me/profile_data', { data: [{ id, value }] })
    await hamlet.patch('/users/me/profile_data', { data: [{ id, value: [] }] })
    assert.deepEqual(await profileOf(hamlet), {})
  })

  it('are all taken or none; fields that are not there are told', async () => {
    const id = await add({ field_type: 1 })
    const data = [
      { id, value: 'x' },
      { id: 9999, value: 'y' },
    ]
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/users/me/profile_data', { data })
    assert.deepEqual(await profileOf(hamlet), {})
  })

  it('of fields that people may not change are for administrators', async () => {
    const id = await add({ field_type: 1, editable_by_user: false })
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/users/me/profile_data', { data: [{ id, value: 'x' }] })
    await admin.patch(`/users/${hamlet.user.id}`, { profile_data: [{ id, value: 'by *Hamlet*' }] })
    assert.equal((await profileOf(hamlet))[id].rendered_value, '<p>by <em>Hamlet</em></p>')
    await hamlet.refused('BAD_REQUEST', 'DELETE', '/users/me/profile_data', { data: [id] })
    await admin.patch(`/users/${hamlet.user.id}`, { profile_data: [{ id, value: null }] })
    assert.deepEqual(await profileOf(hamlet), {})
    await admin.patch('/users/me/profile_data', { data: [{ id, value: 'mine' }] })
  })

  it('go with their field, and with the option that they were', async () => {
    const editor = await add({ field_type: 3, field_data: CHOICES })
    const phone = await add({ field_type: 1, name: 'Phone' })
    await hamlet.patch('/users/me/profile_data', {
      data: [
        { id: editor, value: '1' },
        { id: phone, value: '1' },
      ],
    })
    const queue = await rig.owner.register({ event_types: ['realm_user'] })
    await admin.patch(`/realm/profile_fields/${editor}`, { field_data: { 0: CHOICES[0] } })
    assert.deepEqual((await queue.events())[0].person.custom_profile_field, { id: editor, value: null })
    await admin.delete(`/realm/profile_fields/${phone}`)
    assert.deepEqual(await profileOf(hamlet), {})
  })
})
