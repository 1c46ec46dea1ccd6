/** Devices that want to be told, and calls: as far as they go without services of others. Contract 12, rows E134 to E139. */

import { badRequest, ChatError } from '../base/error.ts'
import { boolean, integer, nameText, oneOf, text } from '../pipeline/parameters.ts'
import { addToken, registerDevice, removeToken, testToken } from '../realm/organization/users/push.ts'
import { type AnyDeclaration, declare } from './declare.ts'

/** Both kinds of tokens in the clear: set and removed. */
const tokens = (row: string, path: string, kind: 'apns' | 'fcm'): readonly AnyDeclaration[] => [
  declare({
    row,
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
    row,
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
    row: 'E134',
    method: 'POST',
    path: '/mobile_push/register',
    who: 'human',
    parameters: {
      token_kind: oneOf('fcm', 'apns'),
      push_account_id: integer(),
      push_key: text(),
      bouncer_public_key: text(),
      encrypted_push_registration: text(),
    },
    handle: ({ realm, me, input }) =>
      registerDevice(realm, me, {
        accountId: input.push_account_id,
        tokenKind: input.token_kind,
        pushKey: input.push_key,
        bouncerPublicKey: input.bouncer_public_key,
        registration: input.encrypted_push_registration,
      }),
  }),
  declare({
    row: 'E135',
    method: 'POST',
    path: '/mobile_push/test_notification',
    who: 'human',
    parameters: { token: text().optional() },
    handle: ({ realm, me, input }) => testToken(realm, me, input.token),
  }),
  declare({
    row: 'E136',
    method: 'POST',
    path: '/mobile_push/e2ee/test_notification',
    who: 'human',
    parameters: { push_account_id: integer().optional() },
    handle: () => {
      throw new ChatError('NO_ACTIVE_PUSH_DEVICE', 'No active registered push device')
    },
  }),
  ...tokens('E137', '/users/me/apns_device_token', 'apns'),
  ...tokens('E138', '/users/me/android_gcm_reg_id', 'fcm'),
]

export const callDeclarations: readonly AnyDeclaration[] = [
  declare({
    row: 'E139',
    method: 'POST',
    path: '/calls/zoom/create',
    who: 'account',
    parameters: { is_video_call: boolean().default(true) },
    handle: () => {
      throw badRequest('Zoom credentials have not been configured')
    },
  }),
  declare({
    row: 'E139',
    method: 'POST',
    path: '/calls/constructorgroups/create',
    who: 'account',
    handle: () => {
      throw badRequest('Constructor Groups credentials have not been configured')
    },
  }),
  declare({
    row: 'E139',
    method: 'GET',
    path: '/calls/bigbluebutton/create',
    who: 'account',
    parameters: { meeting_name: nameText(), voice_only: boolean().default(false) },
    handle: () => {
      throw badRequest('BigBlueButton is not configured.')
    },
  }),
]
