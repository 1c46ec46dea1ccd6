/**
 * Mentions of each level in the history, in its parts 2 (fields), 4 (endpoints), 5 (signing in), 6 (events) and 7 (errors), a
 * row each: how it looks now, to a client of that level, and to one of the level before. Contract section 8.1.
 */

import { ENDPOINTS } from './endpoints.ts'
import { EVENTS } from './events.ts'
import { FIELDS } from './fields.ts'
import { deletesInTime, fullChannel, type Item, outOfTime, type Probe, registered, row } from './probes.ts'

export const ITEMS: readonly Item[] = [...FIELDS, ...ENDPOINTS, ...EVENTS]

/** Mentions that no test shows, and why. */
export const NOT_SHOWN: readonly { level: number; part: number; reason: string }[] = [
  { level: 108, part: 5, reason: 'nobody is sent back to an application from a sign-on in the browser: there is none' },
]

/** Named in no part but the first, as the oldest and the newest. */
const EDGES: readonly Item[] = [
  registered(103, 1, 'realm_create_web_public_stream_policy', 'can_create_web_public_streams'),
  row(
    460,
    1,
    'Constructor Groups calls',
    async (ask) => {
      const choose = (provider: number) => ask.owner.patch('/realm', { video_chat_provider: provider })
      const events = await ask.events(['realm'], () => choose(6))
      await choose(5)
      return [events[0].value, await ask.code('POST', '/calls/constructorgroups/create')]
    },
    [6, 'BAD_REQUEST'],
    [1, 'NOT_FOUND'],
  ),
]

/** Levels that the history does not name and that its rules rest on: contract 11.3, 11.11, and row 159 of 8.1. */
const policy =
  (name: string): Probe =>
  async ({ snapshot }) =>
    (await snapshot())[name]
const editsScheduled: Probe = async (ask) => {
  const later = { type: 'direct', to: [ask.owner.user.id], scheduled_delivery_timestamp: 4e9 }
  const { scheduled_message_id } = await ask.owner.post('/scheduled_messages', { ...later, content: 'before' })
  await ask.post('/scheduled_messages', { ...later, content: 'after', scheduled_message_id })
  const { scheduled_messages } = await ask.owner.get('/scheduled_messages')
  return scheduled_messages.find(
    (one: { scheduled_message_id: number }) => one.scheduled_message_id === scheduled_message_id,
  ).content
}
const UNNAMED: readonly Item[] = [
  row(
    460,
    11,
    'a part that is done, told by a field alone',
    deletesInTime,
    '200 partially_completed complete: false',
    '200 success complete: false',
  ),
  row(
    211,
    11,
    'a part that is done, told by the result alone',
    deletesInTime,
    '200 partially_completed complete: false',
    '200 partially_completed',
    '200 success complete: false',
  ),
  row(211, 11, 'all that is done', async (ask) => 'complete' in (await ask.post('/mark_all_as_read')), true, false),
  row(
    153,
    11,
    'mark_stream_as_read: a part is done',
    async (ask) => outOfTime(ask, '/mark_stream_as_read', { stream_id: fullChannel(ask).id }),
    '200 partially_completed',
    '400 error',
  ),
  row(184, 11, 'scheduled messages edited by POST', editsScheduled, 'before', 'after'),
  row(
    310,
    11,
    'move_messages_between_streams_policy',
    policy('realm_move_messages_between_streams_policy'),
    undefined,
    6,
  ),
  row(316, 11, 'edit_topic_policy', policy('realm_edit_topic_policy'), undefined, 6),
]

export const OTHERS: readonly Item[] = [...EDGES, ...UNNAMED]
