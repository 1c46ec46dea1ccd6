/** Web Push subscriptions of the page. Contract section 3.9.1, rows E152 to E155. */

import { defined } from '../../base/defined.ts'
import { badRequest } from '../base/error.ts'
import { text } from '../pipeline/parameters.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { keysOf } from '../realm/objects/keys.ts'
import { putWebPush, removeWebPush } from '../realm/objects/web-push.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const webPushDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/web_push',
    who: 'human',
    handle: ({ realm, webPush, credential }) => {
      const { settings } = webPush
      return {
        key: settings === null ? '' : webPush.publicKey(),
        hosts: settings?.hosts ?? [],
        content: settings?.content ?? false,
        subscribed: realm.state.webPush.has(defined(credential).id),
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/web_push',
    who: 'human',
    parameters: { endpoint: text(), p256dh: text(), auth: text() },
    handle: ({ realm, webPush, me, credential, input }) => {
      const keyId = expectRememberedSession(realm, me, defined(credential).id)
      const subscription = { keyId, userId: me.id, ...input }
      webPush.expectAccepted(subscription)
      putWebPush(realm, subscription)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/web_push',
    who: 'human',
    handle: ({ realm, credential }) => {
      removeWebPush(realm, defined(credential).id)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/web_push/test',
    who: 'human',
    handle: async ({ webPush, me, credential }) => ({ status: await webPush.test(me, defined(credential).id) }),
  }),
]

/** Others end with the browser, which the server does not notice. Throws `BAD_REQUEST`. */
function expectRememberedSession(realm: Realm, me: User, keyId: number): number {
  const key = keysOf(realm, me).find(({ id }) => id === keyId)
  if (key?.session?.remember !== true) throw badRequest('Only a session that is remembered can have a subscription')
  return keyId
}
