/** No client of a fresh organization asks another host by itself: contract section 6.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { foreignAddresses } from '../support/foreign-hosts.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const OWN_HOSTS = ['chat.example']

const LINKS = new Set(['url_pattern'])

const foreign = (value: unknown): string[] => foreignAddresses(value, OWN_HOSTS, LINKS)

const TEXT = 'https://a.example/b.png ![alt](https://a.example/c.png) [film](https://a.example/d.mp4) :zulip: $$x^2$$'

test('no section of register, and nothing else that is told of the organization, names another host', async () => {
  await rig.owner.patch('/realm', { description: TEXT })
  for (const [who, values] of [
    [hamlet, {}],
    [
      rig.owner,
      {
        client_gravatar: false,
        include_subscribers: true,
        client_capabilities: { notification_settings_null: true, archived_channels: true },
      },
    ],
  ] as const) {
    const { snapshot } = await who.register(values)
    assert.ok('realm_icon_url' in snapshot && 'realm_users' in snapshot && 'cross_realm_bots' in snapshot)
    assert.deepEqual(foreign(snapshot), [])
  }
  assert.deepEqual(foreign((await rig.anonymous('GET', '/server_settings')).body), [])
  for (const path of [
    '/users',
    '/users/me',
    '/realm/emoji',
    '/realm/icon',
    '/realm/logo',
    '/streams',
    '/static/emoji.json',
  ])
    assert.deepEqual(foreign((await rig.owner.call('GET', path, { client_gravatar: false })).body), [], path)
})

test('a message, its event, its edit and a draft name another host only where the operator has set it', async () => {
  const { events } = await hamlet.register({ apply_markdown: true, client_gravatar: false })
  const channel = rig.channel('pictures', [hamlet])
  const seen = async (content: string): Promise<string[]> => {
    const { id } = await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content })
    await hamlet.patch(`/messages/${id}`, { content: `${content} again` })
    const { rendered } = await hamlet.post('/messages/render', { content })
    const newest = { anchor: 'newest', num_before: 1, num_after: 0, client_gravatar: false }
    const { messages } = await hamlet.get('/messages', newest)
    const { message_history } = await hamlet.get(`/messages/${id}/history`)
    const told = await events()
    assert.ok(told.some(({ type }) => type === 'update_message'))
    return foreign([rendered, messages[0].content, message_history, told])
  }
  assert.deepEqual(await seen(TEXT), [])
  changeOperatorSettings(rig.chat.realm, { externalPreviews: true })
  const shown = await seen(TEXT)
  assert.ok(shown.some((one) => one.endsWith('b.png')) && shown.some((one) => one.endsWith('d.mp4')))
  assert.ok(!shown.some((one) => one.endsWith('c.png')))
  changeOperatorSettings(rig.chat.realm, { externalPreviews: false })
  assert.deepEqual(await seen(TEXT), [])
})
