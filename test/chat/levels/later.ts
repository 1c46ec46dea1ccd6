/** Levels after those of the history, a row each: how it looks to a client of now, and to one of the level before. Contract 8.3. */

import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { fresh, type Probe } from './probes.ts'
import type { Ask } from './rig.ts'

interface LaterItem {
  readonly level: number
  readonly item: string
  readonly probe: Probe
  /** To a client that declares nothing, and to one that declares the level. */
  readonly now: unknown
  /** To one that declares the level before, and to one of 460. */
  readonly before: unknown
}

const later = (level: number, item: string, probe: Probe, now: unknown, before: unknown): LaterItem => ({
  level,
  item,
  probe,
  now,
  before,
})

/** A member of the register answer. */
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

/** The code that answers a registration of a device without any other parameter. */
const registersDevice: Probe = async (ask) => {
  const device_id = await newDevice(ask)
  return ask.code('POST', '/mobile_push/register', { device_id })
}

export const LATER_ITEMS: readonly LaterItem[] = [
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
  later(481, 'idle_queue_timeout', idleTimeout, [[], 43_200], [['idle_queue_timeout'], undefined]),
  later(491, 'single changes of emoji', emojiOps, ['add', 'update_one'], ['update', 'update']),
  member(493, 'has_webex_token'),
]
