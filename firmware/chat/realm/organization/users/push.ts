/** Registrations for push notifications. They are stored, but nothing is sent: there is no relay. Contract 12, rows E134 to E138. */

import { badRequest, ChatError, invalidParameter } from '../../../base/error.ts'
import { KINDS } from '../../model/kinds.ts'
import type { Realm } from '../../model/realm.ts'
import type { PushDevice, PushToken, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { registerPush } from '../../objects/client-devices.ts'

const TOKEN_CHARACTERS_MAX = 4096
const FIELD_CHARACTERS_MAX = 4096
const SECRETBOX = 0x31 // first byte of a push key: libsodium's crypto_secretbox_easy; 32 bytes of key follow
const TOKEN_ID_BYTES = 8

interface RegistrationInput {
  readonly key: { readonly push_key_id: number | undefined; readonly push_key: string | undefined }
  readonly token: {
    readonly token_kind: PushToken['kind'] | undefined
    readonly token_id: string | undefined
    readonly bouncer_public_key: string | undefined
    readonly encrypted_push_registration: string | undefined
  }
}

/**
 * Stores the registration, then throws `PUSH_SERVICE_NOT_CONFIGURED`, because nothing is sent without a relay. Throws `BAD_REQUEST` for an
 * incomplete part, and if both parts are missing.
 */
export function registerPushOf(realm: Realm, me: User, deviceId: number, { key, token }: RegistrationInput): never {
  const hasKey = isWhole(key)
  const hasToken = isWhole(token)
  if (!hasKey && !hasToken) throw badRequest('A push key or a token must be given')
  if (hasKey) expectBase64('push_key', key.push_key, (bytes) => bytes.length === 33 && bytes[0] === SECRETBOX)
  if (hasToken) {
    expectBase64('token_id', token.token_id, (bytes) => bytes.length === TOKEN_ID_BYTES)
    expectBase64('bouncer_public_key', token.bouncer_public_key)
    expectBase64('encrypted_push_registration', token.encrypted_push_registration)
  }
  registerPush(realm, me, deviceId, {
    ...(hasKey && { pushKey: { id: key.push_key_id, key: key.push_key } }),
    ...(hasToken && {
      registration: {
        tokenKind: token.token_kind,
        tokenId: token.token_id,
        bouncerPublicKey: token.bouncer_public_key,
        sealed: token.encrypted_push_registration,
      },
    }),
  })
  throw notConfigured()
}

type Whole<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> }

/** False if all members are undefined. Throws `BAD_REQUEST` if only some are. */
function isWhole<T extends object>(part: T): part is T & Whole<T> {
  const names = Object.keys(part)
  const missing = names.filter((name) => part[name as keyof T] === undefined)
  if (missing.length > 0 && missing.length < names.length)
    throw badRequest(`${names.join(', ')} must be given together`, { parameters: missing })
  return missing.length === 0
}

/** Stores the registration, then throws `PUSH_SERVICE_NOT_CONFIGURED`, because nothing is sent without a relay. */
export function registerDevice(realm: Realm, me: User, input: Omit<PushDevice, 'userId'>): never {
  expectBase64('push_key', input.pushKey)
  expectBase64('bouncer_public_key', input.bouncerPublicKey)
  expectBase64('encrypted_push_registration', input.registration)
  realm.transaction((tx) => {
    tx.put('pushDevice', { ...input, userId: me.id })
    tx.publish({
      type: 'push_device',
      to: [me.id],
      make: () => ({ push_account_id: input.accountId, status: 'pending' }),
    })
  })
  throw notConfigured()
}

function expectBase64(name: string, text: string, isRight: (bytes: Uint8Array) => boolean = () => true): void {
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0
  if (!isBase64 || text.length > FIELD_CHARACTERS_MAX) throw invalidParameter(name, `${name} is not base64`)
  if (!isRight(Buffer.from(text, 'base64'))) throw invalidParameter(name, `${name} has a wrong length or form`)
}

/** `push_devices` of the register answer. */
export const pushDevices = ({ state }: Realm, me: User) =>
  Object.fromEntries([...state.pushDevicesOf.get(me.id).keys()].map((id) => [String(id), { status: 'pending' }]))

/** Throws `BAD_REQUEST` for an invalid token or app id. Tokens of Apple are hexadecimal. */
export function addToken(realm: Realm, me: User, input: Omit<PushToken, 'userId'>): void {
  const { kind, token, appId } = input
  if (token === '' || token.length > TOKEN_CHARACTERS_MAX) throw badRequest('Empty or invalid length token')
  if (kind === 'apns' && !/^([0-9a-fA-F]{2})+$/.test(token)) throw badRequest('Invalid APNS token')
  if (appId !== null && !/^[A-Za-z0-9.-]{1,200}$/.test(appId)) throw badRequest('Invalid app ID')
  realm.transaction((tx) => {
    tx.put('pushToken', { ...input, userId: me.id })
  })
}

/** Throws `INVALID_PUSH_DEVICE_TOKEN` for a token that the account does not have. */
export function removeToken(realm: Realm, me: User, kind: PushToken['kind'], token: string): void {
  realm.transaction((tx) => {
    if (!realm.state.pushTokensOf.get(me.id).has(`${kind}:${token}`)) throw noSuchToken()
    tx.remove('pushToken', `${me.id}:${kind}:${token}`)
  })
}

export function removeDevices({ state }: Realm, tx: Transaction, { id }: User): void {
  for (const token of [...state.pushTokensOf.get(id).values()]) tx.remove('pushToken', KINDS.pushToken(token))
  for (const device of [...state.pushDevicesOf.get(id).values()]) tx.remove('pushDevice', KINDS.pushDevice(device))
}

/**
 * Tests one token, or all without `token`. Throws `INVALID_PUSH_DEVICE_TOKEN`, and `PUSH_SERVICE_NOT_CONFIGURED` if there is a token to
 * test.
 */
export function testToken(realm: Realm, me: User, token: string | undefined): Record<string, never> {
  const own = [...realm.state.pushTokensOf.get(me.id).values()]
  if (token !== undefined && !own.some((one) => one.token === token)) throw noSuchToken()
  if (own.length > 0) throw notConfigured()
  return {}
}

const noSuchToken = () => new ChatError('INVALID_PUSH_DEVICE_TOKEN', 'Device not recognized')
const notConfigured = () =>
  new ChatError('PUSH_SERVICE_NOT_CONFIGURED', 'Server is not configured to send push notifications.')
