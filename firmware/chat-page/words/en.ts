/** All texts of the page. A translation is another file with the same names. */

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
export const joinSignIn = 'I have an account: sign in'

export const sealedTitle = 'Sealed'
export const sealedText =
  'The chat is locked. Its messages are sealed until an operator unlocks the appliance. This page goes on by itself then.'
export const unreachableTitle = 'No connection'
export const unreachableText = 'The server does not answer. This page tries again by itself.'
export const offline = 'No connection. Trying again…'

export const inboxEmpty = 'Nothing is unread.'
export const inboxNoChannels = 'You are in no channel yet.'
export const unread = (count: number) => `${count} unread`
export const mentioned = 'You are mentioned'
export const channelTopics = (name: string) => `Topics of #${name}`
export const channelNoTopics = 'No topics yet. Write the first message.'
export const notInChannel = 'You are not in this channel, or it does not exist.'
export const topic = 'Topic'
export const notes = 'Notes to yourself'
export const unknownPerson = 'Unknown user'

export const messages = 'Messages'
export const noMessages = 'No messages yet.'
export const newMessages = 'New'
export const edited = 'edited'
export const toNewest = (count: number) => (count === 0 ? 'To the newest message' : `${count} new below`)
export const problemTitle = 'The action failed'
export const problemOffline = 'The server did not answer.'

export const message = 'Message'
export const messageTo = (place: string) => `Message ${place}`
export const send = 'Send'
export const sending = 'Sending…'
export const sendingAgain = 'Not sent yet. Trying again…'
export const onItsWay = 'Your message, on its way'
export const edit = 'Edit'
export const discard = 'Discard'
export const notSent = 'Not sent'
export const tooLong = (most: number) => `The message is longer than ${most} characters.`
export const sendsByEnter = 'Enter sends, Shift and Enter begin a new line.'
export const sendsByButton = 'Ctrl and Enter send.'
export const reactionBy = (emoji: string, who: string) => `${emoji}: ${who}`
export const drafts = 'Drafts'
export const noDrafts = 'Nothing is begun and not sent.'
export const outbox = 'Not sent'
export const scheduled = 'Scheduled'
export const reminders = 'Reminders'
export const refusedCount = (count: number) => `${count} not sent`
export const signOutLoses = (count: number) =>
  count === 1
    ? 'One message is not sent yet and would be lost.'
    : `${count} messages are not sent yet and would be lost.`
export const signOutAnyway = 'Sign out and lose them'

export const devices = 'Devices'
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
export const sinceAndUsed = (since: Date, used: Date) =>
  `Signed in ${shortDay.format(since)}, last used ${shortDay.format(used)}`

export const actions = 'Actions'
export const addReaction = 'Add a reaction'
export const findEmoji = 'Find an emoji'
export const noEmoji = 'No emoji has that name.'
export const quote = 'Quote'
export const said = (mention: string, link: string) => `${mention} [said](${link})`
export const more = 'More'
export const star = 'Star'
export const unstar = 'Remove the star'
export const starred = 'Starred'
export const copyLink = 'Copy the link'
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
export const vote = (option: string, count: number) => `${option}: ${count} votes`
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
export const preview = 'Preview'
export const schedule = 'Schedule'
export const suggestionList = 'Suggestions'
export const suggestions = (count: number) => `${count} suggestions: arrows and Enter choose`
export const wildcard = 'notifies everybody here'
export const commands = {
  me: 'says what you do',
  poll: 'asks a question; one option a line',
  todo: 'begins a list of tasks; one a line',
}

const LANGUAGE = 'en'
const clock = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const shortDay = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium' })
const both = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const list = new Intl.ListFormat(LANGUAGE, { type: 'unit' })

export const timeOfDay = (time: Date): string => clock.format(time)
export const wholeDay = (time: Date): string => day.format(time)
export const dateAndTime = (time: Date): string => both.format(time)
const KB = 1000
const number = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1 })

export const bytes = (count: number): string =>
  count < KB * KB ? `${number.format(Math.ceil(count / KB))} KB` : `${number.format(count / KB / KB)} MB`
export const names = (all: readonly string[]): string => list.format(all)
