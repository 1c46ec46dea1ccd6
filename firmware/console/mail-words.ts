export const mail = 'Mail of alerts'
export const mailText =
  'What needs attention is mailed once it has lasted two minutes, again each day, and at its end, also while the appliance is locked.'
export const server = 'Mail server'
export const serverHint = 'A host name or an address. Empty: nothing is mailed.'
export const port = 'Port of the mail server'
export const security = 'Protection'
export const securities = [
  ['tls', 'TLS from the start, usual at port 465'],
  ['starttls', 'STARTTLS, usual at port 587'],
  ['none', 'None, for a server on the same computer'],
] as const
export const user = 'User of the mail server'
export const userHint = 'Leave empty if it asks for none.'
export const password = 'Password of the mail server'
export const passwordHint = 'Empty: the password stays as it is. It is never shown.'
export const from = 'Sender'
export const to = 'Recipients'
export const toHint = 'Up to ten mail addresses, separated by spaces.'
export const alerts = 'Alerts to mail'
export const alertsHint = 'Names such as disk or certificate-chat, separated by spaces. Empty: all of them.'
export const test = 'Test of the mail'
export const testText = 'The appliance sends a mail with the saved settings.'
export const testAction = 'Send a test mail'
export const testing = 'Sending…'
export const tested = (problem: string | undefined) =>
  problem === undefined ? 'The mail server has taken the mail.' : `The mail was not taken: ${problem}.`
