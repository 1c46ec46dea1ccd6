/** Explanations that clients show to each user once. Contract row E87, V18. */

import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'

const STEPS: readonly string[] = [
  'intro_inbox_view_modal',
  'intro_recent_view_modal',
  'intro_resolve_topic',
  'first_stream_created_banner',
  'jump_to_conversation_banner',
  'non_interleaved_view_messages_fading',
  'interleaved_view_messages_fading',
  'visibility_policy_banner',
  'navigation_tour_video',
]

export const remainingSteps = (realm: Realm, user: User) => {
  const done = realm.state.onboardingSteps.get(user.id)?.value ?? []
  return STEPS.filter((name) => !done.includes(name)).map((name) => ({ type: 'one_time_notice', name }))
}

/** Throws `BAD_REQUEST` for an unknown step. No event if the step was seen before. */
export function markSeen(realm: Realm, me: User, step: string): void {
  if (!STEPS.includes(step)) throw badRequest(`Unknown onboarding_step: ${step}`)
  const done = realm.state.onboardingSteps.get(me.id)?.value ?? []
  if (done.includes(step)) return
  realm.transaction((tx) => {
    tx.put('onboardingSteps', { userId: me.id, value: [...done, step] })
    tx.publish({
      type: 'onboarding_steps',
      to: [me.id],
      make: () => ({ onboarding_steps: remainingSteps(realm, me) }),
    })
  })
}
