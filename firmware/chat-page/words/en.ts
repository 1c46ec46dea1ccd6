/** All words of the page. Another language is another file of this form. */

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
export const problemTitle = 'That did not work'
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
export const reactionBy = (emoji: string, count: number) => `${emoji}: ${count}`

const LANGUAGE = 'en'
const clock = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat(LANGUAGE, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
const both = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const list = new Intl.ListFormat(LANGUAGE, { type: 'unit' })

export const timeOfDay = (time: Date): string => clock.format(time)
export const wholeDay = (time: Date): string => day.format(time)
export const dateAndTime = (time: Date): string => both.format(time)
export const names = (all: readonly string[]): string => list.format(all)
