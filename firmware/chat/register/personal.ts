/** Register sections of the caller's own data. Contract section 4.2. */

import { remindersOf } from '../realm/messages/reminders.ts'
import { scheduledMessagesOf } from '../realm/messages/scheduled.ts'
import { devicesOf } from '../realm/objects/client-devices.ts'
import { draftsAtRegister } from '../realm/organization/users/drafts.ts'
import { navigationViewsOf } from '../realm/organization/users/navigation-views.ts'
import { remainingSteps } from '../realm/organization/users/onboarding.ts'
import { pushDevices } from '../realm/organization/users/push.ts'
import { savedSnippetsOf } from '../realm/organization/users/saved-snippets.ts'
import type { RegisterSection } from './section.ts'

export const alertWords: RegisterSection = ({ realm, me }) => ({
  alert_words: realm.state.alertWords.get(me.id)?.value ?? [],
})

export const mutedUsers: RegisterSection = ({ realm, me }) => ({
  muted_users: realm.state.mutedUsers.get(me.id)?.value ?? [],
})

export const onboardingSteps: RegisterSection = ({ realm, me }) => ({
  onboarding_steps: remainingSteps(realm, me),
  navigation_tour_video_url: null,
})

export const drafts: RegisterSection = ({ realm, me }) => ({ drafts: draftsAtRegister(realm, me) })

export const savedSnippets: RegisterSection = ({ realm, me }) => ({ saved_snippets: savedSnippetsOf(realm, me) })

export const navigationViews: RegisterSection = ({ realm, me }) => ({ navigation_views: navigationViewsOf(realm, me) })

export const scheduledMessages: RegisterSection = ({ realm, me }) => ({
  scheduled_messages: scheduledMessagesOf(realm, me),
})

export const reminders: RegisterSection = ({ realm, me }) => ({ reminders: remindersOf(realm, me) })

export const device: RegisterSection = ({ realm, me }) => ({ devices: devicesOf(realm, me) })

export const pushDevice: RegisterSection = ({ realm, me }) => ({ push_devices: pushDevices(realm, me) })
