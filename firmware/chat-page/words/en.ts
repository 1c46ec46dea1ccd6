/**
 * All texts of the page in English. To add a word, add it here and, with the same name, to `de.ts` beside it, which the type check
 * compares with this file. Modules read it as `words.name` of `words.ts`, within a function: the language can change while the page is
 * open. A word with a number or a name in it is a function. Numbers, dates and lists come from `format.ts`.
 */

import { dateAndTime, dayShort, listOf, number, timeAgo } from './format.ts'

export const product = 'Coffer'
export const skip = 'Skip to the content'
export const conversations = 'Conversations'
export const inbox = 'Inbox'
export const direct = 'Direct messages'
export const channels = 'Channels'
export const theme = 'Appearance'
export const themes = { auto: 'As the computer', light: 'Light', dark: 'Dark' }
export const menu = 'Menu'
export const loading = 'Loading…'
export const again = 'Try again'
export const back = 'Back to the inbox'
export const copy = 'Copy'
export const copied = 'Copied.'
export const code = 'Code'
export const picture = 'Picture'
export const recording = 'Recording'
export const spoiler = 'Spoiler'
export const show = 'Show'
export const hide = 'Hide'

export const signIn = 'Sign in'
export const signingIn = 'Signing in…'
export const signOut = 'Sign out'
export const signingOut = 'Signing out…'
export const signedOut = 'You are signed out, and nothing of the chat is left in this browser.'
export const sessionEnded = 'This session has ended. Sign in again.'
export const email = 'E-mail'
export const password = 'Password'
export const fullName = 'Your name'
export const device = 'Name of this device'
export const deviceOn = (browser: string, system: string) => `${browser} on ${system}`
export const unknownBrowser = 'Browser'
export const unknownSystem = 'a computer'
export const deviceHint = 'You see it in the list of your sessions.'
export const remember = 'This is my device: stay signed in for 30 days after the last use'
export const wrongPassword = 'The e-mail or the password is wrong.'
export const required = 'Required.'

export const joinTitle = (realm: string) => `Join ${realm}`
export const joinLead = (realm: string) => `You are invited to the team chat of ${realm}.`
export const joinAction = 'Join'
export const joining = 'Joining…'
export const joinGone = 'Invitation not found'
export const joinGoneText = 'It was used, withdrawn, or is too old. Ask for another one.'
export const joinPasswordHint = 'Choose a password for this chat.'
export const setPassword = 'Set the password'
export const setPasswordTitle = (realm: string) => `A new password for ${realm}`
export const setPasswordLead = 'All of your devices and programs are signed out.'
export const linkGone = 'Link not found'
export const linkGoneText = 'It was used, replaced, or is too old. Ask an administrator for another one.'
export const passwordLink = 'Password link'
export const passwordLinkText =
  'Give it to them by a way that you trust: who has the link sets the password. It works once, for 24 hours. The account and all owners are told.'
export const passwordLinkOf = (name: string) => `Link for a new password of ${name}`
export const joinSignIn = 'I have an account: sign in'

export const sealedTitle = 'Sealed'
export const sealedText =
  'The chat is locked. Its messages are sealed until an operator unlocks the appliance. This page goes on by itself then.'
export const unreachableTitle = 'No connection'
export const unreachableText = 'The server does not answer. This page tries again by itself.'
export const offline = 'No connection. Trying again…'
export const offlineSince = (at: Date): string =>
  `No connection. This is the state of ${dateAndTime(at)}. Trying again…`

export const recent = 'Recent conversations'
export const feed = 'All messages'
export const filters = 'Filters'
export const unreadOnly = 'Unread'
export const withOwn = 'With messages of yours'
export const withMuted = 'Muted ones, too'
export const noConversations = 'No conversations.'
export const olderConversations = 'Older conversations'
export const mutedPerson = 'Muted user'
export const mutedMessage = 'You have muted the sender of this message.'
export const shortcuts = 'Keyboard shortcuts'
export const shortcutTexts = [
  ['n', 'next unread conversation'],
  ['p', 'next unread direct conversation'],
  ['Shift N', 'next unread topic that you follow'],
  ['Ctrl K', 'go to a conversation, channel or person'],
  ['Shift I', 'inbox'],
  ['t', 'recent conversations'],
  ['a', 'all messages'],
  ['Shift P', 'all direct messages'],
  ['*', 'starred messages'],
  ['d', 'drafts'],
  ['/', 'search'],
  ['q', 'find a channel'],
  ['w', 'find people'],
  ['Esc', 'home view; from the box: to the newest message'],
  ['Ctrl [', 'as Esc'],
  ['F6, Shift F6', 'next and previous area of the page'],
  ['j, k, arrows', 'next and previous message or row'],
  ['Home; End, Shift G', 'first and last message'],
  ['Shift J, Shift K', 'one page down and up'],
  ['c', 'new topic'],
  ['x', 'new direct message'],
  ['r, Enter', 'reply'],
  ['Shift R', 'direct message to the sender'],
  ['@', 'reply with a mention of the sender'],
  ['>', 'quote the message'],
  ['Ctrl .', 'from the box to its conversation'],
  ['Alt P', 'preview of the text in the box'],
  ['e', 'edit the message'],
  ['m', 'move the message'],
  ['i', 'more for the message'],
  ['s', 'conversation of the message, then its channel'],
  ['z', 'the message in its conversation'],
  ['u', 'profile of the sender'],
  ['v', 'open the picture'],
  ['+', 'react with thumbs up'],
  ['=', 'add to the first reaction, or take it back'],
  [':', 'choose a reaction'],
  ['Ctrl S', 'star the message, or take the star away'],
  ['Shift U', 'mark as unread from here on'],
  ['-', 'collapse or expand the message'],
  ['Shift H', 'edit history'],
  ['Shift V', 'who has read the message'],
  ['Shift M', 'menu of the topic: follow, mute and more'],
  ['?', 'this list'],
] as const
export const switchTo = 'Go to'
export const collapsed = 'Collapsed.'
export const collapse = 'Collapse'
export const expand = 'Expand'
export const move = 'Move'
export const moveModes = {
  change_one: 'this message only',
  change_later: 'this and the later messages of its topic',
  change_all: 'all messages of its topic',
}
export const longMessage = 'This message is very long.'
export const aboutOf = (realm: string) => `About ${realm}`
export const aboutStorage = 'Storage'
export const aboutStorageText =
  'All messages and files are encrypted on the disk. Without an unlock of the appliance nobody can read them.'
export const aboutReaders = 'Access of owners'
export const aboutOwnersRead = 'Owners can export all messages, also of private channels and direct conversations.'
export const aboutNoOwners =
  'Owners cannot read private channels and direct conversations of others, and export them only with the consent of each person.'
export const aboutRetention = 'Retention'
export const aboutDays = (days: number) =>
  `Messages are deleted after ${days === 1 ? 'one day' : `${number(days)} days`}, unless a channel has its own rule.`
export const aboutForever = 'Messages stay, unless a channel has its own rule.'
export const aboutOwners = 'Owners'
export const aboutVersion = 'Version'
export const aboutVersionText = (version: string, level: number) => `${version}, feature level ${level}`
export const inboxEmpty = 'Nothing is unread.'
export const inboxNoChannels = 'You are in no channel yet.'
export const unread = (count: number) => `${number(count)} unread`
export const mentioned = 'You are mentioned'
export const channelTopics = (name: string) => `Topics of #${name}`
export const channelNoTopics = 'No topics yet. Write the first message.'
export const notInChannel = 'You are not in this channel, or it does not exist.'
export const showChannel = 'Show the channel'
export const topic = 'Topic'
export const notes = 'Notes to yourself'
export const unknownPerson = 'Unknown user'

export const availabilities = { active: 'Active', idle: 'Idle' }
export const profile = 'Profile'
export const lastActive = (agoS: number) => `Active ${timeAgo(agoS)}`
export const typing = (all: readonly string[], count: number) =>
  count === 1 ? `${all[0]} is typing…` : `${listOf(all)} are typing…`
export const severalTyping = 'Several people are typing…'
export const editing = 'editing…'

export const messages = 'Messages'
export const noMessages = 'No messages yet.'
export const newMessages = 'New'
export const edited = 'edited'
export const toNewest = (count: number) => (count === 0 ? 'To the newest message' : `${number(count)} new below`)
export const problemTitle = 'The action failed'
export const problemOffline = 'The server did not answer.'
export const problemChanged = 'The message has changed meanwhile. Copy your text, cancel, and edit it again.'

export const message = 'Message'
export const messageTo = (place: string) => `Message ${place}`
export const send = 'Send'
export const sending = 'Sending…'
export const sendingAgain = 'Not sent yet. Trying again…'
export const onItsWay = 'Your message, on its way'
export const edit = 'Edit'
export const discard = 'Discard'
export const notSent = 'Not sent'
export const tooLong = (most: number) => `The message is longer than ${number(most)} characters.`
export const sendsByEnter = 'Enter sends, Shift and Enter begin a new line.'
export const sendsByButton = 'Ctrl and Enter send.'
export const reactionBy = (emoji: string, who: string) => `${emoji}: ${who}`
export const drafts = 'Drafts'
export const noDrafts = 'Nothing is begun and not sent.'
export const outbox = 'Not sent'
export const scheduled = 'Scheduled'
export const editScheduled = 'Edit the scheduled message'
export const reminders = 'Reminders'
export const refusedCount = (count: number) => `${number(count)} not sent`
export const signOutLoses = (count: number) =>
  count === 1
    ? 'One message is not sent yet and would be lost.'
    : `${number(count)} messages are not sent yet and would be lost.`
export const signOutAnyway = 'Sign out and lose them'

export const devices = 'Devices'
/** By `ShellState`. */
export const shells = {
  none: 'This device stores the newest messages, encrypted, for a start without a connection.',
  installed: 'This device stores the newest messages, encrypted, and starts without a connection.',
  refused:
    'This device stores the newest messages, encrypted. It cannot start without a connection, be installed or get push notifications: this browser does not trust the certificate of the server. Ask the administrator of the appliance for a certificate of a trusted authority.',
}
export const keepsNothing = 'This device stores no messages.'
export const devicesLead = 'Everything that is signed in to your account. What you revoke ends at once.'
export const sessions = 'Browsers'
export const apiKeys = 'Apps and programs'
export const thisDevice = 'This browser'
export const revoke = 'Revoke'
export const revoking = 'Revoking…'
export const revokeNamed = (name: string) => `Revoke ${name}`
export const revokeTitle = (name: string) => `Revoke ${name}?`
export const revokeText = 'It is signed out at once, and what it keeps of the chat is deleted at its next contact.'
export const revokeThis = 'You are signed out here.'
export const sinceAndUsed = (since: Date, used: Date) => `Signed in ${dayShort(since)}, last used ${dayShort(used)}`

export const settings = 'Settings'
export const settingsSections = {
  profile: 'Profile',
  account: 'Account',
  devices: 'Devices',
  notifications: 'Notifications',
  display: 'Display',
  privacy: 'Privacy',
  'alert-words': 'Alert words',
  muted: 'Muted and followed',
  bots: 'Your bots',
  files: 'Your files',
}
export type SettingsSection = keyof typeof settingsSections
export const saved = 'Saved.'
export const reset = 'Reset'
export const name = 'Name'
export const description = 'Description'
export const create = 'Create'
export const rename = 'Rename'
export const renameNamed = (name: string) => `Rename ${name}`
export const deactivate = 'Deactivate'
export const deactivateNamed = (name: string) => `Deactivate ${name}?`
export const deactivated = 'deactivated'
export const choosePicture = 'Choose a picture'
export const removePicture = 'Remove the picture'
export const aboutYou = 'About you'
export const noValue = 'Not given'
export const status = 'Status'
export const statusText = 'Status text'
export const statusEmoji = 'Emoji of the status'
export const setStatus = 'Set the status'
export const clearStatus = 'Clear it'
export const oldPassword = 'Current password'
export const newPassword = 'New password'
export const changePassword = 'Change the password'
export const endAccount = 'Leave the organization'
export const endAccountText =
  'Your account is deactivated, and all of your devices are signed out. Your messages stay. An administrator can activate the account again.'
export const endAccountAction = 'Deactivate my account'
export const endAccountTitle = 'Deactivate your account?'
export const inThisBrowser = 'In this browser'
export const everywhere = 'On all of your devices'
export const notifyDirect = 'Direct messages and mentions'
export const notifyChannels = 'All messages in channels'
export const notifyFollowed = 'Topics that you follow'
export const notifyAway = 'Phones'
export const topics = 'Topics'
export const userSettings = {
  enable_desktop_notifications: 'Show notifications',
  enable_sounds: 'Play a sound',
  pm_content_in_desktop_notifications: 'Show the text of direct messages in notifications',
  enable_stream_desktop_notifications: 'Show notifications',
  enable_stream_audible_notifications: 'Play a sound',
  enable_stream_push_notifications: 'Notify phones',
  wildcard_mentions_notify: 'Notify about @all',
  enable_followed_topic_desktop_notifications: 'Show notifications',
  enable_followed_topic_audible_notifications: 'Play a sound',
  enable_followed_topic_push_notifications: 'Notify phones',
  enable_followed_topic_wildcard_mentions_notify: 'Notify about @all and @topic',
  enable_offline_push_notifications: 'Notify phones while you are away',
  enable_online_push_notifications: 'Notify phones while you are at a computer, too',
  automatically_follow_topics_policy: 'Follow topics automatically',
  automatically_unmute_topics_in_muted_streams_policy: 'Unmute topics of muted channels automatically',
  automatically_follow_topics_where_mentioned: 'Follow topics in which you are mentioned',
  email_address_visibility: 'Who sees your e-mail address',
  presence_enabled: 'Show others whether you are active',
  send_private_typing_notifications: 'Show others that you write a direct message',
  send_stream_typing_notifications: 'Show others that you write in a channel',
  send_read_receipts: 'Show others what you have read',
  allow_private_data_export: 'Allow administrators to export your private messages',
  default_language: 'Language',
  timezone: 'Time zone',
  receives_typing_notifications: 'Show who is typing',
  twenty_four_hour_time: 'Clock',
  enter_sends: 'Enter sends a message',
  enable_drafts_synchronization: 'Keep drafts on the server',
  web_mark_read_on_scroll_policy: 'Mark messages as read on scrolling',
  web_home_view: 'First view',
  web_left_sidebar_show_channel_folders: 'Show folders of channels in the sidebar',
  web_inbox_show_channel_folders: 'Show folders of channels in the inbox',
  desktop_icon_count_display: 'Unread count in the title',
}
export const topicPolicies = { 1: 'that you take part in', 2: 'in which you write', 3: 'that you start', 4: 'never' }
export const emailVisibilities = {
  1: 'everybody',
  2: 'members',
  5: 'moderators and above',
  3: 'administrators',
  4: 'nobody',
}
export const markReadPolicies = { 1: 'always', 2: 'in topics and direct conversations', 3: 'never' }
export const homeViews = { inbox: 'Inbox', recent: 'Recent conversations', all_messages: 'All messages' }
export const newDirectMessage = 'New direct message'
export const allowNotifications = 'Allow notifications'
export const notificationsUndecided = 'This browser asks for your permission before it shows notifications.'
export const notificationsDenied =
  'This browser shows no notifications of this page. Permit them in its settings for this site.'
export const newMessage = 'New message'
export const openToRead = 'Open the chat to read it'
export const whilePageIsClosed = 'While this page is closed'
export const pushThisBrowser = 'Notify me in this browser'
export const pushHint = (hosts: readonly string[], hasContent: boolean): string =>
  `The push service of your browser delivers the notifications. It learns when you get one, but neither sender nor text${
    hasContent ? ', which are encrypted for your browser' : ''
  }. Permitted push services: ${hosts.join(', ')}.`
export const pushIsOff = 'The administrator of the server has listed no push services.'
export const pushNeedsDevice =
  'Sign out, and sign in with “This is my device”. Otherwise this browser keeps nothing that a notification needs.'
export const pushNotPossible =
  'This browser cannot get notifications while the page is closed: it does not trust the certificate of the server, or has no push service.'
export const pushServiceFailed = (reason: string): string =>
  `The push service of this browser does not answer: ${reason}`
export const pushTest = 'Send a test'
export const pushTesting = 'Sending…'
export const pushTested = 'Notifications of this page arrive in this browser.'
export const pushTestedBy = (status: number): string =>
  status >= 200 && status < 300
    ? 'The push service has accepted the notification.'
    : `The push service has refused the notification with the status ${status}.`
export const iconCounts = {
  1: 'all messages',
  2: 'direct messages, mentions, followed topics',
  3: 'direct messages and mentions',
  4: 'none',
}
export const timezoneOfDevice = 'As the device'
export const clockOfLanguage = 'As the language'
export const clock24 = '14:30'
export const clock12 = '2:30 PM'
export const alertWordsLead = 'A message with one of these words counts as a mention.'
export const alertWord = 'New alert word'
export const mutedPeople = 'Muted people'
export const mutedNobody = 'You have muted nobody.'
export const mute = 'Mute'
export const unmute = 'Unmute'
export const noTopicPolicies = 'You follow and mute no topic.'
export const visibilityPolicies = { 1: 'muted', 2: 'unmuted', 3: 'followed' }
export const filesUsed = (size: string) => `Your files take ${size}.`
export const fileAbout = (size: string, time: Date, messages: number) =>
  `${size}, ${dayShort(time)}, in ${messages === 1 ? 'one message' : `${number(messages)} messages`}`
export const removeFileText = 'Messages that link to it show a dead link.'

export const newBot = 'New bot'
export const noBots = 'No bots.'
export const ownedBy = (name: string) => `of ${name}`
export const showKey = 'Key'
export const keyOf = (name: string) => `Key of ${name}`
export const keyText = 'Anyone with this key acts as the bot.'
export const replaceKey = 'Replace the key'
export const deactivateBotText = 'Its key ends at once. An administrator can activate it again.'
export const botShortName = 'Short name'
export const botShortNameHint = 'Its address begins with it, as in backup-bot@….'
export const botType = 'Kind'
export const botTypes = { 1: 'Generic', 2: 'Incoming webhook', 3: 'Outgoing webhook' }
export const botUrl = 'Address to call'
export const botUrlHint = 'The appliance calls only hosts that its operator has listed.'

export const people = 'People'
export const bots = 'Bots'
export const bot = 'bot'
export const activePeople = 'Active'
export const deactivatedPeople = 'Deactivated'
export const nobodyFound = 'Nobody has that name.'
export const findPeople = 'Find people'
export const addPeople = 'Add people'
export const choosePeople = 'Choose people and groups'
export const chosenPeople = 'Chosen'
export const pickerHint = 'Enter takes the first one.'
export const removeFromList = (name: string) => `Remove ${name}`
export const newDirect = 'New direct message'
export const writeMessage = 'Write a message'
export const roles = {
  100: 'Owner',
  200: 'Administrator',
  300: 'Moderator',
  400: 'Member',
  600: 'Guest',
}
export const role = 'Role'
export const owner = 'Owner'
export const localTime = 'Local time'
export const memberSince = 'Joined'
export const administration = 'Administration'
export const reactivate = 'Activate again'
export const reactivateText = 'The account is as before. What was sent to its channels meanwhile did not reach it.'
export const deactivateText = 'The account is signed out everywhere at once, and its bots end.'
export const theirContent = 'Messages and profile'
export const keepContent = 'Keep them'
export const deleteContent = 'Delete them for ever'
export const groups = 'Groups'
export const systemGroups = {
  'role:owners': 'Owners',
  'role:administrators': 'Administrators and above',
  'role:moderators': 'Moderators and above',
  'role:fullmembers': 'Full members and above',
  'role:members': 'Members and above',
  'role:everyone': 'Everybody, guests too',
  'role:nobody': 'Nobody',
}

export const browseChannels = 'All channels'
export const newChannel = 'New channel'
export const findChannel = 'Find a channel'
export const noChannels = 'There is no such channel.'
export const settingsOf = (name: string) => `Settings of ${name}`
export const openChannel = 'Open the channel'
export const privateChannel = 'private'
export const subscriberCount = (count: number) => (count === 1 ? 'one subscriber' : `${number(count)} subscribers`)
export const subscribers = (count: number) => `Subscribers ${number(count)}`
export const andOthers = (count: number) => `and ${number(count)} others`
export const joinChannel = 'Join'
export const joinNamed = (name: string) => `Join ${name}`
export const leave = 'Leave'
export const leaveNamed = (name: string) => `Leave ${name}`
export const whoReads = 'Who can read it'
export const channelKinds = {
  public: 'All members',
  private: 'Subscribers, with all of its history',
  hidden: 'Subscribers, from the day they join',
}
export const forYou = 'For you'
export const color = 'Color'
export const pinned = 'Show it first'
export const mutedChannel = 'Mute it'
export const asEverywhere = 'as in your settings'
export const yes = 'yes'
export const no = 'no'
export const channelNotifications = {
  desktop_notifications: 'Show notifications',
  audible_notifications: 'Play a sound',
  push_notifications: 'Notify phones',
  wildcard_mentions_notify: 'Notify about @all',
}
export const topicsPolicy = 'Messages without a topic'
export const topicsPolicies = {
  inherit: 'as in the organization',
  allow_empty_topic: 'allowed',
  disable_empty_topic: 'not allowed',
  empty_topic_only: 'only those: the channel has no topics',
}
export const retentionDays = 'Delete messages after days'
export const forever = 'forever'
export const channelRetentionHint = 'Empty: as in the organization. “forever” keeps all.'
export const defaultChannel = 'New people are subscribed'
export const permissions = 'Permissions'
export const channelPermissions = {
  can_administer_channel_group: 'Administer this channel',
  can_subscribe_group: 'Subscribe',
  can_add_subscribers_group: 'Subscribe others',
  can_remove_subscribers_group: 'Remove subscribers',
  can_send_message_group: 'Send messages',
  can_create_topic_group: 'Start topics',
  can_resolve_topics_group: 'Resolve topics',
  can_move_messages_within_channel_group: 'Move messages inside this channel',
  can_move_messages_out_of_channel_group: 'Move messages to other channels',
  can_delete_any_message_group: 'Delete any message',
  can_delete_own_message_group: 'Delete own messages',
}
export const archive = 'Archive'
export const archived = 'Archived'
export const archiveNamed = (name: string) => `Archive #${name}?`
export const archiveText = 'Nobody can write in an archived channel. Its messages stay.'
export const unarchive = 'Open it again'

export const search = 'Search'
export const searchFor = 'Words, people, channels'
export const searchHint = 'As in: from:"Ben Becker" channel:ops has:link restore'
export const mentions = 'Mentions'
export const starredMessages = 'Starred messages'
export const ownReacted = 'Your messages with reactions'
export const pictures = 'Pictures'
export const resultCount = (count: number) => (count === 1 ? 'One message' : `${number(count)} messages`)
export const noResults = 'No message matches.'
export const older = 'Older ones'
export const operators = {
  channel: 'in one channel',
  topic: 'in one topic',
  sender: 'by one person; also from:',
  dm: 'direct messages with',
  'dm-including': 'all direct messages with',
  mentions: 'that mention somebody',
  is: 'unread, mentioned, starred, …',
  has: 'a link, a picture, a file, a reaction',
  in: 'home leaves out muted ones',
  id: 'one message by its number',
}

export const organization = 'Organization'
export const organizationSections = {
  profile: 'Organization',
  people: 'Accounts',
  invitations: 'Invitations',
  permissions: 'Permissions',
  rules: 'Rules',
  defaults: 'New accounts',
  channels: 'Channels and folders',
  groups: 'Groups',
  bots: 'Bots',
  emoji: 'Emoji',
  fields: 'Profile fields',
  linkifiers: 'Linkifiers',
  playgrounds: 'Playgrounds',
  domains: 'Domains',
  exports: 'Exports',
}
export type OrganizationSectionName = keyof typeof organizationSections
export const notForYou = 'Only administrators change the organization.'
export const cannotUndo = 'Nobody can bring it back.'
export const editNamed = (name: string) => `Edit ${name}`
export const none = 'none'
export const channel = 'Channel'
export const organizationType = 'Kind'
export const organizationTypes = [
  [0, 'not given'],
  [10, 'Business'],
  [20, 'Open source'],
  [30, 'Education (not for profit)'],
  [35, 'Education (for profit)'],
  [40, 'Research'],
  [50, 'Event'],
  [60, 'Nonprofit'],
  [70, 'Government'],
  [80, 'Political group'],
  [90, 'Community'],
  [100, 'Personal'],
  [1000, 'Other'],
] as const
export const icon = 'Icon'
export const logo = 'Logo'
export const nightLogo = 'Logo for dark screens'
export const endOrganization = 'End of the organization'
export const endOrganizationText =
  'Everybody is signed out, and nobody can sign in. The messages stay until the administrator of the appliance erases them or makes the organization active again.'
export const peopleLead =
  'An account without an invitation has a password from you. A profile has the role and the end of an account.'
export const newAccount = 'New account'
export const firstPassword = 'First password'
export const firstPasswordHint = 'Ask them to change it.'
export const manage = 'Manage'
export const manageNamed = (name: string) => `Manage ${name}`
export const invite = 'Invite'
export const inviteLead = 'There is no mail: pass each link on by a way that you trust.'
export const inviteWay = 'Who'
export const inviteWays = { email: 'people by e-mail address', link: 'everybody with one link' }
export const inviteEmails = 'E-mail addresses'
export const inviteEmailsHint = 'One a line.'
export const inviteDays = 'Days until it ends'
export const inviteDaysHint = 'Empty: it does not end.'
export const openInvitations = 'Open invitations'
export const noInvitations = 'No invitation is open.'
export const linkForSeveral = 'Link for several people'
export const sendLinkAgain = 'Renew'
export const invitationAbout = (role: string, by: string, end: Date | null) =>
  `${role}, by ${by}, ${end === null ? 'does not end' : `until ${dayShort(end)}`}`
export const realmPermissions = [
  [
    'Joining',
    {
      can_invite_users_group: 'Invite people',
      create_multiuse_invite_group: 'Make links for several people',
      can_access_all_users_group: 'See all accounts',
    },
  ],
  [
    'Channels',
    {
      can_create_public_channel_group: 'Make public channels',
      can_create_private_channel_group: 'Make private channels',
      can_create_web_public_channel_group: 'Make channels that everybody on the web reads',
      can_add_subscribers_group: 'Subscribe others',
      can_mention_many_users_group: 'Mention many people with @all',
    },
  ],
  [
    'Messages',
    {
      can_move_messages_between_topics_group: 'Move messages to other topics',
      can_move_messages_between_channels_group: 'Move messages to other channels',
      can_resolve_topics_group: 'Resolve topics',
      can_delete_any_message_group: 'Delete any message',
      can_delete_own_message_group: 'Delete own messages',
      can_set_delete_message_policy_group: 'Set who deletes messages in a channel',
      can_set_topics_policy_group: 'Set whether a channel has topics',
      direct_message_initiator_group: 'Start direct conversations',
      direct_message_permission_group: 'Take part in direct conversations',
      can_summarize_topics_group: 'Summarize topics',
    },
  ],
  [
    'Groups, bots and emoji',
    {
      can_create_groups: 'Make groups',
      can_manage_all_groups: 'Manage all groups',
      can_create_bots_group: 'Make bots',
      can_create_write_only_bots_group: 'Make incoming webhooks',
      can_add_custom_emoji_group: 'Add emoji',
    },
  ],
] as const
export const realmSettings = {
  allow_message_editing: 'Messages can be edited',
  message_content_edit_limit_seconds: 'Time to edit',
  message_content_delete_limit_seconds: 'Time to delete',
  move_messages_within_stream_limit_seconds: 'Time to move to another topic',
  move_messages_between_streams_limit_seconds: 'Time to move to another channel',
  message_edit_history_visibility_policy: 'Edit history',
  topics_policy: 'Messages without a topic',
  enable_read_receipts: 'Show who has read a message',
  inline_image_preview: 'Show pictures in messages',
  inline_url_embed_preview: 'Show previews of linked pages',
  send_channel_events_messages: 'Tell a channel about changes of its settings',
  default_code_block_language: 'Language of code blocks',
  name_changes_disabled: 'Only administrators change names',
  email_changes_disabled: 'Only administrators change e-mail addresses',
  avatar_changes_disabled: 'Only administrators change pictures',
  require_unique_names: 'No two accounts have one name',
  enable_guest_user_indicator: 'Mark guests',
  enable_guest_user_dm_warning: 'Warn before a direct message to a guest',
  enable_spectator_access: 'Everybody on the web reads web-public channels',
  default_language: 'Language of new accounts',
  emails_restricted_to_domains: 'Only addresses of listed domains join',
  disallow_disposable_email_addresses: 'No disposable addresses',
  waiting_period_threshold: 'Days until a new member is a full member',
  message_retention_days: 'Delete messages after days (-1: never)',
  page_offline_days: 'Days that devices keep messages without a connection (0: nothing is kept)',
  new_stream_announcements_stream_id: 'New channels are announced in',
  signup_announcements_stream_id: 'New accounts are announced in',
  moderation_request_channel_id: 'Reports go to (a private channel)',
}
export const timeLimits = [
  [null, 'no limit'],
  [60, 'one minute'],
  [600, '10 minutes'],
  [3600, 'one hour'],
  [86_400, 'one day'],
  [604_800, 'one week'],
] as const
export const historyPolicies = [
  ['all', 'edits and moves'],
  ['moves', 'moves only'],
  ['none', 'hidden'],
] as const
export const realmTopicsPolicies = [
  ['allow_empty_topic', 'allowed'],
  ['disable_empty_topic', 'not allowed'],
] as const
export const accounts = 'Accounts'
export const forOwners = 'Set by owners'
export const notices = 'Notices'
export const welcome = 'Welcome'
export const welcomeText = 'Message to new people'
export const welcomeHint = 'You get it as they will.'
export const defaultsLead = 'People change these for themselves. Accounts that exist keep what they have.'
export const channelsLead = 'Each channel has its own settings:'
export const defaultChannels = 'New people are subscribed to'
export const newDefaultChannel = 'Add a channel'
export const noDefaultChannels = 'No channel.'
export const removeDefaultText = 'Who is subscribed stays.'
export const channelGroups = 'Groups of channels, by name'
export const newChannelGroup = 'New group of channels'
export const noChannelGroups = 'No groups of channels.'
export const folder = 'Folder'
export const folders = 'Folders'
export const otherChannels = 'Other channels'
export const newFolder = 'New folder'
export const noFolders = 'No folders.'
export const newGroup = 'New group'
export const noGroups = 'No groups.'
export const members = 'Members'
export const subgroups = 'Groups whose members are members'
export const membersOf = (name: string) => `Members of ${name}`
export const memberCount = (count: number) => (count === 1 ? 'one member' : `${number(count)} members`)
export const permissionsOf = (name: string) => `Permissions of ${name}`
export const deactivateGroupText = 'Nobody can be mentioned by a deactivated group, and it gives no rights.'
export const groupPermissions = {
  can_mention_group: 'Mention this group',
  can_join_group: 'Join',
  can_leave_group: 'Leave',
  can_add_members_group: 'Add members',
  can_remove_members_group: 'Remove members',
  can_manage_group: 'Manage this group',
}
export const noOwnEmoji = 'No emoji of your own.'
export const emojiName = 'Name of the new emoji'
export const removeEmojiText = 'Messages that have it keep it. Nobody can choose it any more.'
export const newField = 'New field'
export const noFields = 'No fields.'
export const fieldHint = 'Hint'
export const fieldType = 'Kind'
export const fieldTypes = [
  ['1', 'Short text'],
  ['2', 'Long text'],
  ['3', 'Choice'],
  ['4', 'Date'],
  ['5', 'Link'],
  ['6', 'People'],
  ['8', 'Pronouns'],
] as const
export const fieldOptions = 'Options of a choice'
export const fieldOptionsHint = 'One a line.'
export const fieldRequired = 'Everybody is asked to fill it'
export const fieldEditable = 'People change it themselves'
export const removeFieldText = 'What people wrote in it is deleted.'
export const toTop = 'To the top'
export const toTopNamed = (name: string) => `To the top: ${name}`
export const linkifiersLead = 'Text that matches a pattern becomes a link, as #123 becomes a link to a ticket.'
export const newLinkifier = 'New linkifier'
export const noLinkifiers = 'No linkifiers.'
export const pattern = 'Pattern'
export const patternHint = 'As in: #(?P<id>[0-9]+)'
export const urlTemplate = 'Address'
export const urlTemplateHint = 'As in: https://tickets.example.org/{id}'
export const exampleText = 'Example'
export const reverseTemplate = 'Text of a pasted address'
export const reverseTemplateHint = 'As in: #{id}. A pasted address becomes this text. Needs an example.'
export const alternativeTemplates = 'Other addresses of the same thing'
export const alternativeTemplatesHint = 'One a line. They become the text, too, when they are pasted.'
export const playgroundsLead = 'Code blocks in a language get a link to a place that runs it.'
export const newPlayground = 'New playground'
export const noPlaygrounds = 'No playgrounds.'
export const codeLanguage = 'Language of the code'
export const playgroundUrlHint = 'As in: https://play.example.org/?code={code}'
export const domainsLead = 'While joining is restricted to domains, only addresses of these join.'
export const newDomain = 'New domain'
export const noDomains = 'No domains.'
export const domain = 'Domain'
export const withSubdomains = 'Subdomains, too'
export const removeDomainText = 'With the last domain the restriction ends.'
export const exportType = 'What'
export const exportTypes = {
  public: 'Public messages and files',
  full_with_consent: 'These, and private ones of people who agreed',
  full_without_consent: 'Everything',
}
export const consents = (count: number, all: number) => `${number(count)} of ${number(all)} people have agreed.`
export const makeExport = 'Make an export'
export const refresh = 'Refresh'
export const noExports = 'No exports.'
export const exportFailed = 'failed'
export const exportPending = 'being made'
export const exportDone = 'made'
export const download = 'Download'

export const actions = 'Actions'
export const addReaction = 'Add a reaction'
export const findEmoji = 'Find an emoji'
export const noEmoji = 'No emoji has that name.'
export const emojiGroups = 'Groups of emoji'
export const emojiGroupNames = {
  smileys_emotion: 'Smileys and emotion',
  people_body: 'People and body',
  animals_nature: 'Animals and nature',
  food_drink: 'Food and drink',
  travel_places: 'Travel and places',
  activities: 'Activities',
  objects: 'Objects',
  symbols: 'Symbols',
  flags: 'Flags',
}
export const popularEmoji = 'Popular and own'
export const quote = 'Quote'
export const said = (mention: string, link: string) => `${mention} [said](${link})`
export const more = 'More'
export const star = 'Star'
export const unstar = 'Remove the star'
export const starred = 'Starred'
export const copyLink = 'Copy the link'
export const markUnread = 'Mark as unread from here'
export const history = 'Edit history'
export const readBy = 'Read by'
export const readByNobody = 'Nobody yet, or they do not show it.'
export const report = 'Report to moderators'
export const reportText = 'Moderators see the message, your name, and what you write here.'
export const reportReason = 'Reason'
export const reportReasons = {
  spam: 'Spam',
  harassment: 'Harassment',
  inappropriate: 'Inappropriate content',
  norms: 'Against the rules here',
  other: 'Something else, as described',
}
export const topicMenu = 'Options of this topic'
export const markRead = 'Mark as read'
export const follow = 'Follow'
export const unfollow = 'Do not follow'
export const resolve = 'Mark as resolved'
export const unresolve = 'Mark as not resolved'
export const deleteTopic = (topic: string) => `Delete all messages of ${topic}?`
export const remind = 'Remind me'
export const remindAction = 'Set the reminder'
export const remove = 'Delete'
export const deleting = 'Deleting…'
export const deleteTitle = 'Delete this message?'
export const deleteText = 'Everybody loses it, with its reactions. Nobody can bring it back.'
export const cancel = 'Cancel'
export const save = 'Save'
export const saving = 'Saving…'
export const notSaved = 'Not saved'
export const editText = 'Text of the message'
export const when = 'When'
export const dismiss = 'Close'
export const add = 'Add'
export const poll = 'Poll'
export const vote = (option: string, count: number) => `${option}: ${number(count)} ${count === 1 ? 'vote' : 'votes'}`
export const newOption = 'New option'
export const tasks = 'Tasks'
export const newTask = 'New task'

export const files = 'Files'
export const attach = 'Attach files'
export const uploading = (name: string) => `Uploading ${name}`
export const uploadingFiles = 'Uploading…'
export const removeFile = (name: string) => `Remove ${name}`
export const useOriginal = (size: string) => `Send the original (${size})`
export const insertEmoji = 'Insert an emoji'
export const snippets = 'Snippets'
export const noSnippets = 'None yet. Write a text and save it here.'
export const snippetTitle = 'Save the text as'
export const removeNamed = (name: string) => `Delete ${name}`
export const partMissing = 'A part of this page is missing. Load the page again.'
export const preview = 'Preview'
export const schedule = 'Schedule'
export const suggestionList = 'Suggestions'
export const suggestions = (count: number) => `${number(count)} suggestions: arrows and Enter choose`
export const wildcard = 'notifies everybody here'
export const commands = {
  me: 'says what you do',
  poll: 'asks a question; one option a line',
  todo: 'begins a list of tasks; one a line',
}
