/** Alert words, muted users and onboarding steps of the caller. Contract rows E82, E83, E87. */

import { z } from 'zod'
import { nameString } from '../base/characters.ts'
import { integer, json, text, texts } from '../pipeline/parameters.ts'
import { markReadFrom } from '../realm/messages/mark-read.ts'
import { addAlertWords, alertWordsOf, removeAlertWords } from '../realm/organization/users/alert-words.ts'
import { mute, unmute } from '../realm/organization/users/muted.ts'
import { markSeen } from '../realm/organization/users/onboarding.ts'
import { findUser } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const personalDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/users/me/alert_words',
    who: 'account',
    handle: ({ realm, me }) => ({ alert_words: alertWordsOf(realm, me) }),
  }),
  declare({
    method: 'POST',
    path: '/users/me/alert_words',
    who: 'account',
    parameters: { alert_words: json(z.array(nameString())) },
    handle: ({ realm, me, input }) => ({ alert_words: addAlertWords(realm, me, input.alert_words) }),
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/alert_words',
    who: 'account',
    parameters: { alert_words: texts() },
    handle: ({ realm, me, input }) => ({ alert_words: removeAlertWords(realm, me, input.alert_words) }),
  }),
  declare({
    method: 'POST',
    path: '/users/me/muted_users/:user_id',
    who: 'account',
    segments: { user_id: integer() },
    handle: async ({ realm, me, path }) => {
      realm.transaction((turn) => mute(realm, turn, me, findUser(realm, me, path.user_id)))
      await markReadFrom(realm, me, path.user_id)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/muted_users/:user_id',
    who: 'account',
    segments: { user_id: integer() },
    handle: ({ realm, me, path }) => {
      realm.transaction((turn) => unmute(realm, turn, me, findUser(realm, me, path.user_id)))
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/onboarding_steps',
    who: 'human',
    parameters: { onboarding_step: text() },
    handle: ({ realm, me, input }) => {
      markSeen(realm, me, input.onboarding_step)
      return {}
    },
  }),
]
