/** Pictures of accounts: contract rows E85, E90, E91 and section 11.16. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { imageHeader } from '../../../firmware/chat/realm/messages/images.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const picture = (sizePx: number) => png(sizePx, [[200, 0, 0]], () => new Uint8Array(sizePx))

async function fetched(url: string): Promise<{ status: number; type: string | null; bytes: Uint8Array }> {
  const response = await rig.chat.api.request(`http://chat.example${url}`, { headers: { host: 'chat.example' } })
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    bytes: new Uint8Array(await response.arrayBuffer()),
  }
}
const shown = async (url: string) => {
  const { status, bytes } = await fetched(url)
  return status === 200 ? imageHeader(bytes) : null
}

describe('avatars', () => {
  it('are generated for users without a picture, in two sizes, the same each time', async () => {
    const { avatar_url, avatar_url_medium } = (await hamlet.register()).snapshot
    assert.deepEqual(await shown(avatar_url), { type: 'png', width: 100, height: 100 })
    assert.deepEqual(await shown(avatar_url_medium), { type: 'png', width: 500, height: 500 })
    assert.deepEqual((await fetched(avatar_url)).bytes, (await fetched(avatar_url)).bytes)
  })

  it('an address that somebody made up has none', async () => {
    const { avatar_url } = (await hamlet.get('/users/me')) as { avatar_url: string }
    const [path] = avatar_url.split('?')
    for (const wrong of [
      path!.replace(/-[0-9a-f]/, '-x'),
      path!.replace(/\d+-/, `${rig.owner.user.id}-`),
      path!.replace('/2/', '/3/'),
      path!.replace('.png', '.svg'),
    ]) {
      assert.equal((await fetched(wrong)).status, 404, wrong)
    }
  })

  it("/users/me/avatar: a picture of one's own is told, fetched, kept over a stop and taken away again", async () => {
    const queue = await rig.owner.register({ event_types: ['realm_user'] })
    const { body } = await hamlet.upload('POST', '/users/me/avatar', picture(40))
    assert.equal(body.result, 'success')
    assert.match(body.avatar_url, /\?version=2$/)
    const [{ person, op }] = await queue.events()
    assert.equal(op, 'update')
    assert.equal(person.avatar_url, body.avatar_url)
    assert.match(person.avatar_url_medium, /-medium\.png\?version=2$/)
    assert.deepEqual([person.avatar_source, person.avatar_version], ['U', 2])
    rig.reopen()
    assert.deepEqual(await shown(body.avatar_url), { type: 'png', width: 40, height: 40 })
    assert.deepEqual((await fetched(body.avatar_url)).bytes, new Uint8Array(picture(40)))

    const second = await hamlet.upload(
      'POST',
      '/users/me/avatar',
      Buffer.from('GIF89a\x08\x00\x09\x00\x00\x00', 'latin1'),
    )
    assert.equal((await fetched(second.body.avatar_url)).type, 'image/gif')
    const { avatar_url } = await hamlet.delete('/users/me/avatar')
    assert.match(avatar_url, /\?version=4$/)
    assert.deepEqual(await shown(avatar_url), { type: 'png', width: 100, height: 100 })
    assert.equal(rig.chat.realm.store.files.picture(`avatar ${hamlet.user.id} 2`), undefined)
    assert.equal(rig.chat.realm.store.files.picture(`avatar ${hamlet.user.id} 3`), undefined)
  })

  it('/users/me/avatar: what is no picture, too large or not there is refused, and the old one stays', async () => {
    const { body } = await hamlet.upload('POST', '/users/me/avatar', picture(30))
    const refused = async (file: Uint8Array) => (await hamlet.upload('POST', '/users/me/avatar', file)).body
    assert.equal((await refused(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).code, 'BAD_IMAGE')
    const vast = Buffer.from(picture(10))
    vast.writeUInt32BE(100_000, 16)
    vast.writeUInt32BE(100_000, 20)
    assert.equal((await refused(vast)).code, 'BAD_IMAGE')
    const large = Buffer.concat([picture(10), Buffer.alloc(5 * 1024 * 1024)])
    assert.equal((await refused(large)).result, 'error')
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/avatar')
    assert.equal((await hamlet.get('/users/me')).avatar_url, body.avatar_url)
    assert.deepEqual(await shown(body.avatar_url), { type: 'png', width: 30, height: 30 })
  })

  it('/users/me/avatar: only administrators may change what the organization does not allow; the owner of a bot changes its avatar', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    realm.transaction((turn) =>
      turn.put('organization', { ...organization, settings: { avatar_changes_disabled: true } }),
    )
    assert.equal((await hamlet.upload('POST', '/users/me/avatar', picture(10))).body.code, 'BAD_REQUEST')
    await hamlet.refused('BAD_REQUEST', 'DELETE', '/users/me/avatar')
    assert.equal((await rig.owner.upload('POST', '/users/me/avatar', picture(10))).status, 200)
    realm.transaction((turn) => turn.put('organization', organization))
    const { user_id } = await hamlet.post('/bots', { full_name: 'Plain', short_name: 'plain' })
    const bot = rig.clientOf(realm.state.user.get(user_id)!)
    assert.equal((await bot.upload('POST', '/users/me/avatar', picture(10))).body.code, 'BAD_REQUEST')
  })

  it('/bots: bots are made with one, and get another', async () => {
    const values = { full_name: 'Painted', short_name: 'painted' }
    const { body } = await hamlet.upload('POST', '/bots', picture(20), values)
    assert.equal((await shown(body.avatar_url))?.width, 20)
    const queue = await hamlet.register({ event_types: ['realm_bot', 'realm_user'] })
    const changed = await hamlet.upload('PATCH', `/bots/${body.user_id}`, picture(24), { full_name: 'Repainted' })
    assert.equal((await shown(changed.body.avatar_url))?.width, 24)
    assert.deepEqual(
      (await queue.events()).map(({ type, bot, person }) => [
        type,
        Object.keys(bot ?? person)
          .sort()
          .join(),
      ]),
      [
        ['realm_user', 'avatar_source,avatar_url,avatar_url_medium,avatar_version,user_id'],
        ['realm_bot', 'avatar_url,user_id'],
        ['realm_user', 'full_name,user_id'],
        ['realm_bot', 'full_name,user_id'],
      ],
    )
    const refused = await hamlet.upload('POST', '/bots', Buffer.from('no picture'), {
      full_name: 'No',
      short_name: 'no',
    })
    assert.equal(refused.body.code, 'BAD_IMAGE')
    assert.equal(rig.chat.realm.state.userByEmail.get('no-bot@coffer.invalid'), undefined)
    const other = rig.account('ophelia')
    assert.equal((await other.upload('PATCH', `/bots/${body.user_id}`, picture(10))).body.code, 'BAD_REQUEST')
    assert.equal((await shown(changed.body.avatar_url))?.width, 24)
  })

  it('Gravatar is named only where an administrator chose it, and to whom the address is known', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    realm.transaction((turn) => turn.put('organization', { ...organization, settings: { default_avatar_source: 'G' } }))
    const user = rig.account('yorick')
    const url = async (client_gravatar: boolean) =>
      (await hamlet.get(`/users/${user.user.id}`, { client_gravatar })).user.avatar_url
    assert.match(await url(false), /^https:\/\/secure\.gravatar\.com\/avatar\/[0-9a-f]{32}\?d=identicon&version=1$/)
    assert.equal(await url(true), null)
    await user.patch('/settings', { email_address_visibility: 4 })
    const hidden = createHash('md5').update(`user${user.user.id}@coffer.invalid`).digest('hex')
    assert.ok((await url(true)).startsWith(`https://secure.gravatar.com/avatar/${hidden}?`))
    realm.transaction((turn) => turn.put('organization', organization))
  })
})

describe('files beside the API', () => {
  it('emoji with their names, and a logo', async () => {
    const { snapshot } = await hamlet.register({ fetch_event_types: ['realm'] })
    const { type, bytes } = await fetched(snapshot.server_emoji_data_url)
    assert.match(type!, /^application\/json/)
    assert.ok(JSON.parse(Buffer.from(bytes).toString()).code_to_names['1f697'].includes('car'))
    assert.equal((await fetched(snapshot.realm_logo_url)).type, 'image/svg+xml')
  })
})
