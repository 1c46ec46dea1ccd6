/** Devices that want to be told. There is no relay to tell them by: what they say is kept. Contract 12, rows E134 to E138. */

import { badRequest, ChatError, invalidParameter } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { PushDevice, PushToken, User } from '../../model/records.ts'

const TOKEN_CHARACTERS_MAX = 4096
const FIELD_CHARACTERS_MAX = 4096

/** Throws `PUSH_SERVICE_NOT_CONFIGURED` once the registration is kept: nothing is sent without a relay. */
export function registerDevice(realm: Realm, me: User, input: Omit<PushDevice, 'userId'>): never {
  for (const [name, value] of [
    ['push_key', input.pushKey],
    ['bouncer_public_key', input.bouncerPublicKey],
    ['encrypted_push_registration', input.registration],
  ] as const)
    if (value === '' || value.length > FIELD_CHARACTERS_MAX || !isBase64(value))
      throw invalidParameter(name, `${name} is not base64`)
  realm.transaction((turn) => {
    turn.put('pushDevice', { ...input, userId: me.id })
    turn.publish({
      type: 'push_device',
      to: [me.id],
      make: () => ({ push_account_id: input.accountId, status: 'pending' }),
    })
  })
  throw notConfigured()
}

const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0

/** `push_devices` of the register answer. */
export const pushDevices = ({ state }: Realm, me: User) =>
  Object.fromEntries([...state.pushDevicesOf.get(me.id).keys()].map((id) => [String(id), { status: 'pending' }]))

/** Apple's tokens are bytes as hexadecimal digits. */
export function addToken(realm: Realm, me: User, input: Omit<PushToken, 'userId'>): void {
  const { kind, token, appId } = input
  if (token === '' || token.length > TOKEN_CHARACTERS_MAX) throw badRequest('Empty or invalid length token')
  if (kind === 'apns' && !/^([0-9a-fA-F]{2})+$/.test(token)) throw badRequest('Invalid APNS token')
  if (appId !== null && !/^[A-Za-z0-9.-]{1,200}$/.test(appId)) throw badRequest('Invalid app ID')
  realm.transaction((turn) => {
    turn.put('pushToken', { ...input, userId: me.id })
  })
}

/** Throws `INVALID_PUSH_DEVICE_TOKEN` for one that the account has not. */
export function removeToken(realm: Realm, me: User, kind: PushToken['kind'], token: string): void {
  realm.transaction((turn) => {
    if (!realm.state.pushTokensOf.get(me.id).has(`${kind}:${token}`)) throw noSuchToken()
    turn.remove('pushToken', `${me.id}:${kind}:${token}`)
  })
}

/** Without a token, to each. Throws `INVALID_PUSH_DEVICE_TOKEN`, and `PUSH_SERVICE_NOT_CONFIGURED` where there is one to tell. */
export function testToken(realm: Realm, me: User, token: string | undefined): Record<string, never> {
  const own = [...realm.state.pushTokensOf.get(me.id).values()]
  if (token !== undefined && !own.some((one) => one.token === token)) throw noSuchToken()
  if (own.length > 0) throw notConfigured()
  return {}
}

const noSuchToken = () => new ChatError('INVALID_PUSH_DEVICE_TOKEN', 'Device not recognized')
const notConfigured = () =>
  new ChatError('PUSH_SERVICE_NOT_CONFIGURED', 'Server is not configured to send push notifications.')
