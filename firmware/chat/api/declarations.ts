import { avatarDeclarations, avatarFileDeclarations } from './avatars.ts'
import { botDeclarations } from './bots.ts'
import { channelFolderDeclarations } from './channel-folders.ts'
import { channelDeclarations } from './channels.ts'
import type { AnyDeclaration } from './declare.ts'
import { defaultChannelDeclarations } from './default-channels.ts'
import { domainDeclarations } from './domains.ts'
import { draftDeclarations } from './drafts.ts'
import { emojiDeclarations, emojiFileDeclarations } from './emoji.ts'
import { eventDeclarations } from './events.ts'
import { exportDeclarations } from './exports.ts'
import { externalDeclarations } from './external.ts'
import { flagDeclarations } from './flags.ts'
import { groupDeclarations } from './groups.ts'
import { invitationDeclarations } from './invitations.ts'
import { keyDeclarations } from './keys.ts'
import { linkifierDeclarations } from './linkifiers.ts'
import { messageDeclarations } from './messages.ts'
import { narrowDeclarations } from './narrow.ts'
import { navigationViewDeclarations } from './navigation-views.ts'
import { passwordLinkDeclarations } from './password-links.ts'
import { personalDeclarations } from './personal.ts'
import { playgroundDeclarations } from './playgrounds.ts'
import { presenceDeclarations } from './presence.ts'
import { profileFieldDeclarations } from './profile-fields.ts'
import { callDeclarations, pushDeclarations } from './push.ts'
import { reactionDeclarations } from './reactions.ts'
import { realmDeclarations } from './realm.ts'
import { realmPictureDeclarations, realmPictureFileDeclarations } from './realm-pictures.ts'
import { reportDeclarations } from './reports.ts'
import { savedSnippetDeclarations } from './saved-snippets.ts'
import { scheduledDeclarations } from './scheduled.ts'
import { serverDeclarations } from './server.ts'
import { sessionDeclarations } from './sessions.ts'
import { settingDeclarations } from './settings.ts'
import { staticDeclarations } from './static.ts'
import { submessageDeclarations } from './submessages.ts'
import { subscriptionDeclarations } from './subscriptions.ts'
import { topicDeclarations } from './topics.ts'
import { typingDeclarations } from './typing.ts'
import { uploadDeclarations, uploadMediaDeclarations } from './uploads.ts'
import { userDeclarations } from './users.ts'
import { webPushDeclarations } from './web-push.ts'

/** Paths are below `/api/v1`. */
export const DECLARATIONS: readonly AnyDeclaration[] = [
  ...avatarDeclarations,
  ...botDeclarations,
  ...callDeclarations,
  ...channelDeclarations,
  ...domainDeclarations,
  ...channelFolderDeclarations,
  ...defaultChannelDeclarations,
  ...draftDeclarations,
  ...emojiDeclarations,
  ...eventDeclarations,
  ...exportDeclarations,
  ...externalDeclarations,
  ...flagDeclarations,
  ...groupDeclarations,
  ...invitationDeclarations,
  ...passwordLinkDeclarations,
  ...keyDeclarations,
  ...linkifierDeclarations,
  ...messageDeclarations,
  ...narrowDeclarations,
  ...navigationViewDeclarations,
  ...personalDeclarations,
  ...playgroundDeclarations,
  ...presenceDeclarations,
  ...profileFieldDeclarations,
  ...pushDeclarations,
  ...reactionDeclarations,
  ...realmDeclarations,
  ...realmPictureDeclarations,
  ...reportDeclarations,
  ...savedSnippetDeclarations,
  ...scheduledDeclarations,
  ...serverDeclarations,
  ...sessionDeclarations,
  ...settingDeclarations,
  ...submessageDeclarations,
  ...subscriptionDeclarations,
  ...topicDeclarations,
  ...typingDeclarations,
  ...uploadDeclarations,
  ...userDeclarations,
  ...webPushDeclarations,
]

/** Files and pages, with full paths. */
export const OTHER_DECLARATIONS: readonly AnyDeclaration[] = [
  ...avatarFileDeclarations,
  ...emojiFileDeclarations,
  ...realmPictureFileDeclarations,
  ...staticDeclarations,
  ...uploadMediaDeclarations,
]
