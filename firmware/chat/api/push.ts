/** Devices for push notifications, and calls, as far as they need no foreign service. Contract 12, rows E134 to E139. */

import { defined } from '../../base/defined.ts'
import { badRequest, ChatError, missingParameter } from '../base/error.ts'
import { boolean, integer, nameText, naturalNumber, oneOf, text } from '../pipeline/parameters.ts'
import { addDevice, removeDevice } from '../realm/objects/client-devices.ts'
import { addToken, registerDevice, registerPushOf, removeToken, testToken } from '../realm/organization/users/push.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const tokens = (path: string, kind: 'apns' | 'fcm'): readonly AnyDeclaration[] => [
  declare({
    method: 'POST',
    path,
    who: 'human',
    parameters: { token: text(), appid: kind === 'apns' ? text() : text().optional() },
    handle: ({ realm, me, input }) => {
      addToken(realm, me, { kind, token: input.token, appId: kind === 'apns' ? (input.appid ?? '') : null })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path,
    who: 'human',
    parameters: { token: text() },
    handle: ({ realm, me, input }) => {
      removeToken(realm, me, kind, input.token)
      return {}
    },
  }),
]

export const pushDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/mobile_push/register',
    who: 'human',
    parameters: {
      token_kind: oneOf('fcm', 'apns').optional(),
      push_account_id: integer().optional(),
      push_key: text().optional(),
      bouncer_public_key: text().optional(),
      encrypted_push_registration: text().optional(),
      device_id: integer().optional(),
      push_key_id: naturalNumber()
        .where((id) => id < 2 ** 32, 'must be less than 4294967296')
        .optional(),
      token_id: text().optional(),
    },
    handle: ({ realm, me, input }) => {
      const { token_kind, push_key, bouncer_public_key, encrypted_push_registration, push_account_id } = input
      if (input.device_id !== undefined)
        return registerPushOf(realm, me, input.device_id, {
          key: { push_key_id: input.push_key_id, push_key },
          token: { token_kind, token_id: input.token_id, bouncer_public_key, encrypted_push_registration },
        })
      return registerDevice(realm, me, {
        tokenKind: given(token_kind, 'token_kind'),
        accountId: given(push_account_id, 'push_account_id'),
        pushKey: given(push_key, 'push_key'),
        bouncerPublicKey: given(bouncer_public_key, 'bouncer_public_key'),
        registration: given(encrypted_push_registration, 'encrypted_push_registration'),
      })
    },
  }),
  declare({
    method: 'POST',
    path: '/register_client_device',
    who: 'human',
    handle: ({ realm, me, credential }) => ({ device_id: addDevice(realm, me, defined(credential).id) }),
  }),
  declare({
    method: 'POST',
    path: '/remove_client_device',
    usesReserve: true,
    who: 'human',
    parameters: { device_id: integer() },
    handle: ({ realm, me, input }) => {
      removeDevice(realm, me, input.device_id)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/mobile_push/test_notification',
    who: 'human',
    parameters: { token: text().optional() },
    handle: ({ realm, me, input }) => testToken(realm, me, input.token),
  }),
  declare({
    method: 'POST',
    path: '/mobile_push/e2ee/test_notification',
    who: 'human',
    parameters: { device_id: integer().optional(), push_account_id: integer().optional() },
    handle: () => {
      throw new ChatError('NO_ACTIVE_PUSH_DEVICE', 'No active registered push device')
    },
  }),
  ...tokens('/users/me/apns_device_token', 'apns'),
  ...tokens('/users/me/android_gcm_reg_id', 'fcm'),
]

/** Throws if the parameter is missing. Some are required only below level 468. */
function given<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw missingParameter(name)
  return value
}

export const callDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/calls/zoom/create',
    who: 'account',
    parameters: { is_video_call: boolean().default(true) },
    handle: () => {
      throw badRequest('Zoom credentials have not been configured')
    },
  }),
  declare({
    method: 'POST',
    path: '/calls/constructorgroups/create',
    who: 'account',
    handle: () => {
      throw badRequest('Constructor Groups credentials have not been configured')
    },
  }),
  declare({
    method: 'POST',
    path: '/calls/nextcloud_talk/create',
    who: 'account',
    handle: () => {
      throw badRequest('Nextcloud Talk credentials have not been configured')
    },
  }),
  declare({
    method: 'POST',
    path: '/calls/webex/create',
    who: 'account',
    handle: () => {
      throw badRequest('Webex credentials have not been configured')
    },
  }),
  declare({
    method: 'GET',
    path: '/calls/bigbluebutton/create',
    who: 'account',
    parameters: { meeting_name: nameText(), voice_only: boolean().default(false) },
    handle: () => {
      throw badRequest('BigBlueButton is not configured.')
    },
  }),
]
