export const orders = 'Certificates from an authority'
export const ordersText =
  'The appliance orders certificates by ACME while it is operational, and renews them. Other hosts must be reachable: see Outgoing connections in the settings.'
export const ports = { appliance: 'Port of the appliance', chat: 'Port of the chat' }
export const state = 'State'
export const states: Readonly<Record<string, string>> = {
  off: 'Off',
  pending: 'Pending',
  ordering: 'Ordering',
  valid: 'Valid',
  failing: 'Failing',
}
export const notAfter = 'Valid until'
export const renewAt = 'Next order'
export const failures = 'Failures in a row'
export const problem = 'Problem'
export const renew = 'Order now'
export const renewing = 'Ordering…'
export const account = 'Account at the authority'

export const settings = 'Orders of certificates'
export const directory = 'Directory of the authority'
export const directoryHint =
  'For example https://acme-v02.api.letsencrypt.org/directory. Empty: nothing is ordered, the account is forgotten, and certificates stay.'
export const contact = 'Mail addresses for the authority'
export const contactHint = 'Separated by spaces. Leave empty for none.'
export const terms = 'Terms of the authority'
export const termsAgreed = 'Agreed to'
export const termsOpen = 'Not agreed to'
export const challenge = 'Validation of names'
export const challenges = [
  ['http-01', 'http-01, at port 80'],
  ['tls-alpn-01', 'tls-alpn-01, at port 443'],
] as const
export const profile = 'Profile'
export const profileHint = 'One that the authority offers, such as shortlived. Leave empty for its default.'
export const names = { appliance: 'Names for the port of the appliance', chat: 'Names for the port of the chat' }
export const namesHint =
  'Host names and IP addresses, separated by spaces. Empty: the certificate of this port is left alone.'
export const kid = 'External account'
export const kidHint = 'Only if the authority has given one.'
export const key = 'Key of the external account'
export const keyHint = 'Empty: the key stays as it is. It is never shown.'
