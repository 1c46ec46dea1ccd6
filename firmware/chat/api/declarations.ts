/** Every endpoint of the chat: a line per resource. */

import { avatarDeclarations, avatarFileDeclarations } from './avatars.ts'
import { botDeclarations } from './bots.ts'
import { channelDeclarations } from './channels.ts'
import type { AnyDeclaration } from './declare.ts'
import { draftDeclarations } from './drafts.ts'
import { emojiDeclarations } from './emoji.ts'
import { eventDeclarations } from './events.ts'
import { flagDeclarations } from './flags.ts'
import { groupDeclarations } from './groups.ts'
import { keyDeclarations } from './keys.ts'
import { messageDeclarations } from './messages.ts'
import { narrowDeclarations } from './narrow.ts'
import { navigationViewDeclarations } from './navigation-views.ts'
import { personalDeclarations } from './personal.ts'
import { presenceDeclarations } from './presence.ts'
import { reactionDeclarations } from './reactions.ts'
import { savedSnippetDeclarations } from './saved-snippets.ts'
import { scheduledDeclarations } from './scheduled.ts'
import { serverDeclarations } from './server.ts'
import { settingDeclarations } from './settings.ts'
import { staticDeclarations } from './static.ts'
import { subscriptionDeclarations } from './subscriptions.ts'
import { topicDeclarations } from './topics.ts'
import { typingDeclarations } from './typing.ts'
import { uploadDeclarations, uploadMediaDeclarations } from './uploads.ts'
import { userDeclarations } from './users.ts'

/** Below `/api/v1`. */
export const DECLARATIONS: readonly AnyDeclaration[] = [
  ...avatarDeclarations,
  ...botDeclarations,
  ...channelDeclarations,
  ...draftDeclarations,
  ...emojiDeclarations,
  ...eventDeclarations,
  ...flagDeclarations,
  ...groupDeclarations,
  ...keyDeclarations,
  ...messageDeclarations,
  ...narrowDeclarations,
  ...navigationViewDeclarations,
  ...personalDeclarations,
  ...presenceDeclarations,
  ...reactionDeclarations,
  ...savedSnippetDeclarations,
  ...scheduledDeclarations,
  ...serverDeclarations,
  ...settingDeclarations,
  ...subscriptionDeclarations,
  ...topicDeclarations,
  ...typingDeclarations,
  ...uploadDeclarations,
  ...userDeclarations,
]

/** With full paths: files and pages. */
export const OTHER_DECLARATIONS: readonly AnyDeclaration[] = [
  ...avatarFileDeclarations,
  ...staticDeclarations,
  ...uploadMediaDeclarations,
]
