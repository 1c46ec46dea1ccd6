/** Blocks of what is the caller's alone. Contract section 4.2. */

import { remainingSteps } from '../realm/users/onboarding.ts'
import type { Block } from './block.ts'

export const alertWords: Block = ({ realm, me }) => ({ alert_words: realm.state.alertWords.get(me.id)?.value ?? [] })

export const mutedUsers: Block = ({ realm, me }) => ({ muted_users: realm.state.mutedUsers.get(me.id)?.value ?? [] })

export const onboardingSteps: Block = ({ realm, me }) => ({
  onboarding_steps: remainingSteps(realm, me),
  navigation_tour_video_url: null,
})
