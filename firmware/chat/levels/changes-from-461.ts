/** Changes of levels 461 and above, newest first; older ones are in changes.ts. Contract section 8.3. */

import { badRequest } from '../base/error.ts'
import { HISTORY_VERSION } from '../base/version.ts'
import { keyFor } from '../realm/objects/bot-keys.ts'
import { expectInSummary } from '../realm/organization/users/profile-fields.ts'
import { capability } from './conversions.ts'
import { ATTACHMENTS, answer, EXPORTS, event, LINKIFIERS, REALM, register, SERVER_SETTINGS } from './rule-targets.ts'
import {
  dropEvent,
  edit,
  editAnswer,
  insertBehind,
  type LevelChange,
  levelChange,
  mapField,
  removeEndpoints,
  removeFields,
  removeParameters,
  replaceEvent,
  request,
} from './rules.ts'

const LINKIFIERS_SET = ['POST /realm/filters', 'PATCH /realm/filters/:filter_id']
const HIDES_PREVIEWS = 'hide_link_previews'

/** Members that select the provider of calls: contract section 2.6. */
const provider = (before: number, now: number, name: string) => [
  mapField('video_chat_provider', (n) => (n === now ? before : n), REALM),
  removeFields([name], register('realm_available_video_chat_providers')),
  removeEndpoints(`POST /calls/${name}/create`),
]

export const LATER_CHANGES: readonly LevelChange[] = [
  levelChange(
    510,
    request(['POST /messages/flags', 'POST /messages/flags/narrow'], (values) => {
      if (values.get('flag') === HIDES_PREVIEWS) throw badRequest(`Flag not editable: '${HIDES_PREVIEWS}'`)
    }),
    edit(
      [...answer('GET /messages', 'messages', '*'), ...answer('GET /messages/:message_id', 'message')],
      (message) => {
        message.flags = message.flags.filter((flag: string) => flag !== HIDES_PREVIEWS)
      },
    ),
    dropEvent('update_message_flags', ({ flag }) => flag === HIDES_PREVIEWS),
  ),
  levelChange(508, removeFields(['message_url', 'message_link'], answer('POST /messages'))),
  levelChange(499, removeFields(['export_from_prior_server'], EXPORTS)),
  levelChange(497, removeFields(['server_timestamp'], answer('GET /users/:user_id/presence'))),
  levelChange(493, ...provider(1, 8, 'webex'), removeFields(['has_webex_token'], register())),
  levelChange(491, request(['POST /register'], capability('individual_emoji_changes', false))),
  levelChange(
    487,
    removeFields(['active_timestamp', 'idle_timestamp'], answer('GET /users/:user_id/presence', 'presence')),
  ),
  levelChange(485, removeFields(['input_type'], register('realm_incoming_webhook_bots', '*', 'url_options', '*'))),
  levelChange(
    481,
    removeParameters(['idle_queue_timeout'], 'POST /register'),
    removeFields(['idle_queue_timeout_secs'], register()),
  ),
  levelChange(
    478,
    removeFields(['alternative_url_templates'], LINKIFIERS),
    removeParameters(['alternative_url_templates'], ...LINKIFIERS_SET),
  ),
  levelChange(
    476,
    request(
      ['POST /realm/profile_fields', 'PATCH /realm/profile_fields/:field_id'],
      (values, _, { state }, { field_id: id }) => {
        const type = typeof id === 'number' ? state.profileField.get(id)?.type : Number(values.get('field_type'))
        if (values.get('display_in_profile_summary') === 'true' && type === 2) expectInSummary(type, [type])
      },
    ),
  ),
  levelChange(
    475,
    dropEvent('realm_user/update', (_, { cause }) => cause === 'first_sign_in'),
  ),
  levelChange(
    474,
    editAnswer(register('realm_bots', '*'), (bot, { realm, me }) =>
      insertBehind(bot, 'full_name', 'api_key', keyFor(realm, me()?.id, realm.state.user.get(bot.user_id))),
    ),
    replaceEvent('realm_bot', [], (event, { realm, to }) => {
      if (event.op !== 'add') return [event]
      const [viewerId] = to === 'everyone' ? [] : to
      insertBehind(event.bot, 'full_name', 'api_key', keyFor(realm, viewerId, realm.state.user.get(event.bot.user_id)))
      return [event]
    }),
  ),
  levelChange(472, removeFields(['message_ids'], ATTACHMENTS)),
  levelChange(
    471,
    removeFields(['example_input', 'reverse_template'], LINKIFIERS),
    removeParameters(['example_input', 'reverse_template'], ...LINKIFIERS_SET),
  ),
  levelChange(470, removeEndpoints('POST /remove_client_device')),
  levelChange(
    468,
    removeFields(['devices'], register()),
    dropEvent('device'),
    removeEndpoints('POST /register_client_device'),
    removeParameters(['device_id'], 'POST /mobile_push/register', 'POST /mobile_push/e2ee/test_notification'),
  ),
  levelChange(466, removeFields(['realm_uuid'], register())),
  levelChange(465, ...provider(1, 7, 'nextcloud_talk')),
  levelChange(
    464,
    replaceEvent('realm', [], (event) => {
      if (event.op !== 'update_dict' || event.data.description === undefined) return [event]
      const { description: value, rendered_description } = event.data
      return [{ type: 'realm', op: 'update', property: 'description', value, rendered_description }]
    }),
  ),
  levelChange(463, removeEndpoints('GET /bots/:bot_id/api_key')),
  levelChange(462, removeFields(['rendered_description'], event('realm/update'))),
  levelChange(
    461,
    ...['zulip_version', 'zulip_merge_base'].map((name) =>
      mapField(name, () => HISTORY_VERSION, [...SERVER_SETTINGS, ...register(), ...event('restart')]),
    ),
    dropEvent('realm_bot/update', (_, { cause }) => cause === 'email'),
  ),
]
