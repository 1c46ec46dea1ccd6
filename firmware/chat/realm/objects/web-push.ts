/** Web Push subscriptions of sessions. Contract section 3.9.1, rows E153 and E154. */

import type { Realm } from '../model/realm.ts'
import type { WebPushSubscription } from '../model/records.ts'

/** Replaces the session's subscription, and that of another session of the same browser: both would lead to this browser. */
export function putWebPush(realm: Realm, subscription: WebPushSubscription): void {
  realm.transaction((tx) => {
    const other = realm.state.webPushByEndpoint.get(subscription.endpoint)
    if (other !== undefined) tx.remove('webPush', other.keyId)
    tx.put('webPush', subscription)
  })
}

export function removeWebPush(realm: Realm, keyId: number): void {
  if (realm.state.webPush.has(keyId)) realm.transaction((tx) => tx.remove('webPush', keyId))
}

/** Visits the recipients or the subscriptions, whichever are fewer. */
export function* webPushAmong({ state }: Realm, recipients: ReadonlySet<number>): Iterable<WebPushSubscription> {
  if (state.webPush.size <= recipients.size) {
    for (const one of state.webPush.all()) if (recipients.has(one.userId)) yield one
    return
  }
  for (const id of recipients) yield* state.webPushOf.get(id).values()
}
