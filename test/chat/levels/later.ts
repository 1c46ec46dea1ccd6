/** Levels after those of the history, a row each: how it looks to a client of now, and to one of the level before. Contract 8.3. */

import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { countOf, fresh, keys, message, newBot, type Probe, say, upload } from './probes.ts'
import type { Ask } from './rig.ts'

interface LaterItem {
  readonly level: number
  readonly item: string
  readonly probe: Probe
  /** To a client that declares nothing, and to one that declares the level. */
  readonly now: unknown
  readonly atLevel: unknown
  /** To one that declares the level before, and to one of 460. */
  readonly before: unknown
  readonly at460: unknown
}

const later = (
  level: number,
  item: string,
  probe: Probe,
  now: unknown,
  before: unknown,
  { atLevel = now, at460 = before }: { atLevel?: unknown; at460?: unknown } = {},
): LaterItem => ({ level, item, probe, now, atLevel, before, at460 })

const member = (level: number, name: string): LaterItem =>
  later(level, name, async ({ snapshot }) => name in (await snapshot()), true, false)

const PICTURE = png(20, [[200, 0, 0]], () => new Uint8Array(20))

const emojiOps: Probe = async (ask) => {
  const name = fresh('emoji')
  const act = async () => {
    await ask.owner.upload('POST', `/realm/emoji/${name}`, PICTURE)
    await ask.owner.delete(`/realm/emoji/${name}`)
  }
  const events = await ask.events(['realm_emoji'], act, { can: { individual_emoji_changes: true } })
  return events.map(({ op }) => op)
}

const idleTimeout: Probe = async (ask) => {
  const { ignored_parameters_unsupported = [], idle_queue_timeout_secs } = await ask.post('/register', {
    idle_queue_timeout: 'mobile',
    fetch_event_types: [],
  })
  return [ignored_parameters_unsupported, idle_queue_timeout_secs]
}

const deviceEvents: Probe = async (ask) => {
  const events = await ask.events(null, () => ask.owner.post('/register_client_device'))
  return events.filter(({ type }) => type === 'device').length
}

const newDevice = async ({ owner }: Ask): Promise<number> => (await owner.post('/register_client_device')).device_id

const registersDevice: Probe = async (ask) => {
  const device_id = await newDevice(ask)
  return ask.code('POST', '/mobile_push/register', { device_id })
}

const describes: Probe = async (ask) => {
  const events = await ask.events(['realm'], () => ask.owner.patch('/realm', { description: fresh('about') }))
  return events.map((event) => keys(event.data ?? event))
}
const DESCRIBED = {
  now: ['description rendered_description'],
  at462: ['id op property rendered_description type value'],
  at460: ['id op property type value'],
}

const renamesBot: Probe = async (ask) => {
  const bot = await newBot(ask)
  const rename = () => ask.owner.patch(`/bots/${bot.user.id}`, { short_name: fresh('renamed') })
  return (await ask.events(['realm_bot'], rename)).map((event) => keys(event.bot))
}

const botsInRegister: Probe = async (ask) => {
  const bot = await newBot(ask)
  const { realm_bots } = await ask.post('/register', { fetch_event_types: ['realm_bot'], event_types: [] })
  const found = realm_bots.find(({ user_id }: { user_id: number }) => user_id === bot.user.id)
  return [Object.keys(found).slice(0, 4).join(' '), /^\w{32}$/.test(found.api_key)]
}

const botsInEvents: Probe = async (ask) => {
  const act = async () => {
    const bot = await newBot(ask)
    await ask.owner.post(`/bots/${bot.user.id}/api_key/regenerate`)
  }
  return (await ask.events(['realm_bot'], act)).map(({ op, bot }) => `${op} ${/^\w{32}$/.test(bot.api_key)}`)
}

const calls =
  (provider: number, name: string): Probe =>
  async (ask) => {
    const choose = (provider: number) => ask.owner.patch('/realm', { video_chat_provider: provider })
    const events = await ask.events(['realm'], () => choose(provider))
    await choose(5)
    return [events[0].value, await ask.code('POST', `/calls/${name}/create`)]
  }

const linkifier =
  (values: Record<string, unknown>): Probe =>
  async (ask) => {
    const pattern = `${fresh('link')}-(?P<id>[0-9]+)`
    const filter = { pattern, url_template: 'https://example.com/{id}', ...values }
    const { id, ignored_parameters_unsupported = [] } = await ask.post('/realm/filters', filter)
    const { linkifiers } = await ask.get('/realm/linkifiers')
    await ask.owner.delete(`/realm/filters/${id}`)
    return [countOf(linkifiers.at(-1), Object.keys(values)), ignored_parameters_unsupported]
  }

const attachmentMembers: Probe = async (ask) => {
  await say(ask, ask.verona.id, 'files', `[a](${await upload(ask)})`)
  return 'message_ids' in (await ask.get('/attachments')).attachments[0]
}

const firstSignIns: Probe = async (ask) => {
  const username = `${fresh('joining')}@example.com`
  const password = 'correct horse battery'
  await ask.owner.post('/users', { email: username, full_name: fresh('Joining '), password })
  const events = await ask.events(['realm_user'], () =>
    ask.rig.anonymous('POST', '/fetch_api_key', { username, password }),
  )
  return events.filter(({ person }) => 'date_joined' in person).length
}

const longInSummary: Probe = async (ask) => {
  const values = { name: fresh('field'), field_type: 2, display_in_profile_summary: true }
  const made = await ask.code('POST', '/realm/profile_fields', values)
  const { custom_fields } = await ask.owner.get('/realm/profile_fields')
  const field = custom_fields.find(({ name }: { name: string }) => name === values.name)
  const hidden = { ...values, name: fresh('field'), display_in_profile_summary: false }
  const { id } = await ask.owner.post('/realm/profile_fields', hidden)
  const shown = await ask.code('PATCH', `/realm/profile_fields/${id}`, { display_in_profile_summary: true })
  for (const one of [field?.id, id]) if (one !== undefined) await ask.owner.delete(`/realm/profile_fields/${one}`)
  return [made, shown]
}

const urlOption: Probe = async ({ snapshot }) =>
  (await snapshot()).realm_incoming_webhook_bots.flatMap(({ url_options = [] }) => url_options)[0].input_type

const presenceOf = (ask: Ask) => ask.get(`/users/${ask.owner.user.id}/presence`)

const hidesPreviews: Probe = async (ask) => {
  const values = { messages: [ask.own], op: 'add', flag: 'hide_link_previews' }
  const code = await ask.code('POST', '/messages/flags', values)
  await ask.owner.post('/messages/flags', values)
  const { flags } = await message(ask, ask.own)
  const events = await ask.events(['update_message_flags'], () =>
    ask.owner.post('/messages/flags', { ...values, op: 'remove' }),
  )
  return [code, flags.includes('hide_link_previews'), events.length]
}

export const LATER_ITEMS: readonly LaterItem[] = [
  later(461, 'another e-mail of a bot', renamesBot, ['email user_id'], []),
  later(462, 'description, rendered', describes, DESCRIBED.now, DESCRIBED.at460, { atLevel: DESCRIBED.at462 }),
  later(
    463,
    'key of a bot',
    async (ask) => ask.code('GET', `/bots/${(await newBot(ask)).user.id}/api_key`),
    'ok',
    'NOT_FOUND',
  ),
  later(464, 'description, in update_dict', describes, DESCRIBED.now, DESCRIBED.at462, { at460: DESCRIBED.at460 }),
  later(465, 'Nextcloud Talk', calls(7, 'nextcloud_talk'), [7, 'BAD_REQUEST'], [1, 'NOT_FOUND']),
  member(466, 'realm_uuid'),
  member(468, 'devices'),
  later(468, 'events of devices', deviceEvents, 1, 0),
  later(468, 'register_client_device', (ask) => ask.code('POST', '/register_client_device'), 'ok', 'NOT_FOUND'),
  later(468, 'mobile_push/register: device_id', registersDevice, 'BAD_REQUEST', 'REQUEST_VARIABLE_MISSING'),
  later(
    470,
    'remove_client_device',
    async (ask) => ask.code('POST', '/remove_client_device', { device_id: await newDevice(ask) }),
    'ok',
    'NOT_FOUND',
  ),
  later(
    471,
    'reverse templates',
    linkifier({ example_input: '', reverse_template: '' }),
    [2, []],
    [0, ['example_input', 'reverse_template']],
  ),
  later(472, 'message_ids', attachmentMembers, true, false),
  later(
    474,
    'bots in register',
    botsInRegister,
    ['user_id email full_name bot_type', false],
    ['user_id email full_name api_key', true],
  ),
  later(474, 'bots in events', botsInEvents, ['add false'], ['add true', 'update true']),
  later(475, 'first sign-in', firstSignIns, 1, 0),
  later(476, 'long text in the summary', longInSummary, ['ok', 'ok'], ['BAD_REQUEST', 'BAD_REQUEST']),
  later(
    478,
    'alternative templates',
    linkifier({ alternative_url_templates: ['https://example.org/{id}'] }),
    [1, []],
    [0, ['alternative_url_templates']],
  ),
  later(481, 'idle_queue_timeout', idleTimeout, [[], 43_200], [['idle_queue_timeout'], undefined]),
  later(485, 'input_type', urlOption, 'check_string', undefined),
  later(
    487,
    'times of presence',
    async (ask) => keys((await presenceOf(ask)).presence),
    'active_timestamp aggregated idle_timestamp website',
    'aggregated website',
  ),
  later(491, 'single changes of emoji', emojiOps, ['add', 'update_one'], ['update', 'update']),
  later(493, 'Webex', calls(8, 'webex'), [8, 'BAD_REQUEST'], [1, 'NOT_FOUND']),
  member(493, 'has_webex_token'),
  later(497, 'server_timestamp', async (ask) => 'server_timestamp' in (await presenceOf(ask)), true, false),
  later(
    499,
    'export_from_prior_server',
    async (ask) => (await ask.get('/export/realm')).exports[0].export_from_prior_server,
    false,
    undefined,
  ),
  later(
    508,
    'message_url, message_link',
    async (ask) => {
      const sent = { type: 'channel', to: ask.verona.id, topic: 'links', content: 'x' }
      return countOf(await ask.post('/messages', sent), ['message_url', 'message_link'])
    },
    2,
    0,
  ),
  later(510, 'hide_link_previews', hidesPreviews, ['ok', true, 1], ['BAD_REQUEST', false, 0]),
]
