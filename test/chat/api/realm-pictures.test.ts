/** Icon and logos of the organization: contract row E120, V23. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

const picture = (sizePx: number) => png(sizePx, [[0, 0, 200]], () => new Uint8Array(sizePx))
const status = async (url: string) =>
  (await rig.chat.api.request(`http://chat.example${url}`, { headers: { host: 'chat.example' } })).status

for (const [path, values, name, unset] of [
  ['/realm/icon', {}, 'icon', 'G'],
  ['/realm/logo', {}, 'logo', 'D'],
  ['/realm/logo', { night: true }, 'night_logo', 'D'],
] as const)
  test(`/realm: ${name} is set, told, fetched by everybody, replaced and taken away`, async () => {
    const { owner } = rig
    const field = `${path.slice('/realm/'.length)}_url`
    const queue = await rig.account(`hamlet-${name}`).register({ event_types: ['realm'] })
    const first = (await owner.get(path, values))[field]
    const { body } = await owner.upload('POST', path, picture(30), values)
    assert.equal(body.result, 'success')
    const [{ op, property, data }] = await queue.events()
    assert.deepEqual([op, property], ['update_dict', name])
    assert.deepEqual(data, { [`${name}_url`]: body[field], [`${name}_source`]: 'U' })
    assert.equal(await status(body[field]), 200)
    assert.equal(await status(body[field].replace('.png', '.svg')), 404)
    rig.reopen()
    const { snapshot } = await owner.register()
    assert.equal(snapshot[`realm_${name}_url`], body[field])
    assert.equal((await owner.get(path, values))[field], body[field])

    const second = (await owner.upload('POST', path, picture(40), values)).body[field]
    assert.notEqual(second, body[field])
    assert.equal((await owner.delete(path, values))[field], first)
    assert.equal(await status(second), 404)
    const events = await queue.events()
    assert.deepEqual(events.at(-1).data, { [`${name}_url`]: first, [`${name}_source`]: unset })
  })

test('/realm: a picture that is none, too large or absent is refused', async () => {
  for (const path of ['/realm/icon', '/realm/logo']) {
    assert.equal((await rig.owner.upload('POST', path, Buffer.from('GIF89a'), { night: false })).body.code, 'BAD_IMAGE')
    assert.equal((await rig.owner.upload('POST', path, Buffer.alloc(5 * 1024 * 1024 + 1))).status, 413)
    await rig.owner.refused('BAD_REQUEST', 'POST', path)
  }
})

test('GET /server_settings: has the complete address of the icon', async () => {
  const before = (await rig.anonymous('GET', '/server_settings')).body.realm_icon
  assert.match(before, /^https:\/\/chat\.example\/static\/images\/default-icon\.png\?version=0$/)
  await rig.owner.upload('POST', '/realm/icon', picture(30))
  assert.match(
    (await rig.anonymous('GET', '/server_settings')).body.realm_icon,
    /^https:\/\/chat\.example\/user_avatars\/2\/realm\/icon\.png/,
  )
})
