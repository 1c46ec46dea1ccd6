/**
 * Devices on which an account is signed in, and their registrations for push notifications. Without a relay a registration stays pending. A
 * device is removed with the API key or session that created it. Contract section 2.5, rows E134, E145 and E146, V63.
 */

import { badRequest } from '../../base/error.ts'
import { publishOwn } from '../model/own-events.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { ClientDevice, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'

interface DeviceView {
  readonly push_key_id: number | null
  readonly push_token_id: string | null
  readonly pending_push_token_id: string | null
  readonly push_token_last_updated_timestamp: number | null
  readonly push_registration_error_code: string | null
}

const deviceView = (device: ClientDevice): DeviceView => ({
  push_key_id: device.pushKey?.id ?? null,
  push_token_id: null, // no relay confirms tokens
  pending_push_token_id: device.registration?.tokenId ?? null,
  push_token_last_updated_timestamp: device.registration?.time ?? null,
  push_registration_error_code: null,
})

/** `devices` of the register answer, by id. */
export const devicesOf = ({ state }: Realm, { id }: User): Record<string, DeviceView> =>
  Object.fromEntries([...state.clientDevicesOf.get(id)].map(([id, device]) => [String(id), deviceView(device)]))

/** Returns the id. The device belongs to the API key or session `keyId`. */
export function addDevice(realm: Realm, me: User, keyId: number): number {
  return realm.transaction((tx) => {
    const id = tx.nextId('clientDevice')
    tx.put('clientDevice', { id, userId: me.id, keyId, pushKey: null, registration: null })
    publishOwn(tx, me, 'device', 'add', { device_id: id })
    return id
  })
}

/** Throws the same `BAD_REQUEST` for another account's id and for an unknown id. */
export function removeDevice(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => remove(tx, findDevice(realm, me, id)))
}

interface DeviceUpdate {
  pushKey?: NonNullable<ClientDevice['pushKey']>
  registration?: Omit<NonNullable<ClientDevice['registration']>, 'time'>
}

/** Replaces the given parts. Throws `BAD_REQUEST` for an unknown device, and if the device would still lack the push key or the token. */
export function registerPush(realm: Realm, me: User, id: number, { pushKey, registration }: DeviceUpdate): void {
  realm.transaction((tx) => {
    const before = findDevice(realm, me, id)
    const after: ClientDevice = {
      ...before,
      ...(pushKey !== undefined && { pushKey }),
      ...(registration !== undefined && { registration: { ...registration, time: nowOf(realm) } }),
    }
    if (after.pushKey === null || after.registration === null)
      throw badRequest('A device must register its push key and its token together the first time')
    tx.put('clientDevice', after)
    const [old, now] = [deviceView(before), deviceView(after)]
    const changed = Object.entries(now).filter(([name, value]) => value !== old[name as keyof DeviceView])
    if (changed.length > 0) publishOwn(tx, me, 'device', 'update', { device_id: id, ...Object.fromEntries(changed) })
  })
}

/** Removes the devices and Web Push subscriptions of one key or session, or, without `keyId`, all of the account. */
export function removeDevicesOf(realm: Realm, tx: Transaction, userId: number, keyId?: number): void {
  const { clientDevicesOf, webPushOf } = realm.state
  const isMeant = (one: { keyId: number }): boolean => keyId === undefined || one.keyId === keyId
  for (const device of [...clientDevicesOf.get(userId).values()]) if (isMeant(device)) remove(tx, device)
  for (const one of [...webPushOf.get(userId).values()]) if (isMeant(one)) tx.remove('webPush', one.keyId)
}

function findDevice({ state }: Realm, me: User, id: number): ClientDevice {
  const device = state.clientDevicesOf.get(me.id).get(id)
  if (device === undefined) throw badRequest('Invalid device_id')
  return device
}

function remove(tx: Transaction, { id, userId }: ClientDevice): void {
  tx.remove('clientDevice', id)
  publishOwn(tx, { id: userId }, 'device', 'remove', { device_id: id })
}
