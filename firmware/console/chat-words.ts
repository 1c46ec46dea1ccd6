export const states = { none: 'None', starting: 'Starting', running: 'Running', failed: 'Failed' }
export const state = 'State'
export const problem = 'Problem'
export const address = 'Address'
export const users = 'Users'
export const messages = 'Messages'
export const size = 'Size'
export const queues = 'Connected clients'
export const exportKey = 'Public key of exports'
export const olderCopies = (names: readonly string[]) =>
  `These databases were replaced by an older copy, or lost changes to damage: ${names.join(', ')}.`

export const make = 'Create the organization'
export const makeText = 'This appliance has no chat yet. The owner invites all other members.'
export const name = 'Name of the organization'
export const url = 'Address for clients'
export const urlHint = 'For example https://chat.example.org. Leave empty to use the address that each client uses.'
export const email = 'Email address of the owner'
export const fullName = 'Name of the owner'
export const password = 'Password of the owner'

export const settings = 'Settings of the chat'
export const quota = 'Quota of all uploads in MiB'
export const quotaHint = 'Leave empty for a quarter of the disk.'
export const previews = 'Previews of pictures and videos on other hosts'
export const previewsHint = 'If shown, each reader’s client requests them from the other host.'
export const previewsOn = 'Shown'
export const previewsOff = 'Not shown'
export const access = 'Private channels that owners are not in'
export const accessOn = 'Owners may read them'
export const accessOff = 'Owners may not read them'
export const hosts = 'Hosts that outgoing webhooks may reach'
export const hostsHint = 'For example hooks.example.org:8443, separated by spaces. Leave empty for none.'
export const pushHosts = 'Push services that browsers are notified by'
export const pushHostsHint =
  'For example fcm.googleapis.com updates.push.services.mozilla.com web.push.apple.com *.notify.windows.com. Leave empty for none.'
export const pushContact = 'Contact for push services'
export const pushContactHint = 'For example mailto:operator@example.org. Each push service gets this address.'
export const pushContent = 'Sender and text in notifications'
export const pushContentOn = 'Included, encrypted for the browser'
export const pushContentOff = 'Not included, the browser fetches them'

export const port = 'Port of the chat'
export const portText = 'With 443 people type no port. All clients connect again.'

export const token = 'Sign-in by token'
export const tokenText = 'People sign in with a JSON Web Token of your identity provider.'
export const tokenAlgorithm = 'Algorithm'
export const tokenOff = 'Off'
export const tokenSecret = 'Secret, 32 bytes or more'
export const tokenKey = 'Public key in PEM'
export const tokenIs = (algorithm: string) => `Tokens with ${algorithm} are accepted. The key is not shown.`
export const tokenIsOff = 'No tokens are accepted.'
export const tokenShort = 'The secret must have at least 32 bytes.'
export const tokenNoKey = 'The text does not hold a public key in PEM.'

export const recover = 'Recover an owner'
export const recoverText =
  'Sets a new password. All API keys of the account are revoked, and every owner is notified. A deactivated organization becomes active again.'
export const recovered = 'The owner can sign in with the new password.'

export const certificate = 'Certificate of the chat'
export const certificateAfterwards = 'New connections get the new certificate.'

export const remove = 'Remove the organization'
export const removeText =
  'Erases the organization with all its accounts, messages and files. Only a backup brings them back.'
export const removeTyped = 'remove the chat'
export const removing = 'Removing…'
