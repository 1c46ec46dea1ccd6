/** All texts of the page. A translation is another file with the same names. */

import { bytes, count, duration } from './format.ts'

export const product = 'Coffer'
export const skip = 'Skip to the content'
export const navigation = 'Views'
export const navigationAt = (view: string) => `View: ${view}`
export const unlockPassphrase = 'Unlock passphrase'
export const backupPassphrase = 'Backup passphrase'
export const chooseFile = 'Choose a file.'
export const newPassphrase = 'New passphrase'
export const deleting = 'Deleting…'
export const factoryReset = 'Factory reset'
export const importKey = 'Import a key'
export const restarting = 'Restarting…'
export const newKey = 'New key'
export const passphrase = 'Passphrase'
export const namespace = 'Namespace'
export const label = 'Label'
export const signIn = 'Sign in'
export const restart = 'Restart'
export const version = 'Version'
export const saving = 'Saving…'
export const making = 'Making…'
export const install = 'Install'
export const type = 'Type'
export const verify = 'Verify'
export const clock = 'Clock'
export const start = 'Start'
export const none = 'None'
export const show = 'Show'
export const user = 'User'
export const uses = 'Uses'
export const name = 'Name'
export const tags = 'Tags'
export const cancel = 'Cancel'
export const copy = 'Copy'
export const copied = 'Copied.'
export const save = 'Save'
export const remove = 'Remove'
export const add = 'Add'
export const loading = 'Loading…'
export const again = 'Try again'
export const partMissing = 'A part of this page cannot be loaded. Reload the page.'
export const unknown = 'Unknown'
export const ahead = 'ahead'
export const behind = 'behind'
export const optional = 'optional'
export const file = (name: string, size: number) => `${name}, ${bytes(size)}`
export const docs = 'API documents'
export const theme = 'Appearance'
export const themes = { auto: 'System', light: 'Light', dark: 'Dark' }

export const states = {
  Unprovisioned: 'Not set up',
  Locked: 'Locked',
  Operational: 'Operational',
  Failed: 'Failed',
  Trial: 'Update on trial',
  Unreachable: 'No connection',
  Starting: 'Connecting…',
}
export const roles = { Administrator: 'Administrator', Operator: 'Operator', Metrics: 'Metrics', Backup: 'Backup' }
export const rolesMay = {
  Administrator: 'Manages keys, users and the appliance. Cannot use keys.',
  Operator: 'Uses keys to sign, decrypt and encrypt. Cannot change keys.',
  Metrics: 'Reads metrics only.',
  Backup: 'Makes backups only.',
}

// passphrase
export const passphraseShow = 'Show the passphrase'
export const passphraseHideShort = 'Hide'
export const passphraseAgain = (label: string) => `${label}, again`
export const passphraseRule = (size: number) => `10 to 200 bytes; ${size} typed.`
export const passphraseMissing = 'Enter a passphrase.'
export const passphraseShort = (size: number) => `At least 10 bytes are needed; this has ${size}.`
export const passphraseLong = (size: number) => `At most 200 bytes are allowed; this has ${size}.`
export const passphraseDiffer = 'The passphrases differ.'

// confirm
export const confirmLabel = (text: string) => `Type “${text}” to confirm`
export const confirmWrong = 'The text does not match.'

// problem
export const problemTitle = 'The action failed'
export const problemStatus = (status: number) => `Status ${status}`
export const problemOffline = 'The appliance does not respond.'
export const problemChanged =
  'Another administrator has changed this in the meantime. The new values are shown: check them, then try again.'
export const problemTaken = 'Choose another name.'
export const problemWrongCredentials = 'Wrong user name or passphrase.'

// signIn
export const signInUserHint = 'The first administrator is admin. Users of a namespace sign in as namespace~name.'
export const signInBusy = 'Signing in…'
export const signInKept = 'The passphrase is kept in this tab only, until you sign out, reload or leave the page.'
export const signInFull = 'Four accounts are signed in. Sign out of one first.'
export const signInAnother = 'Sign in with another account'
export const signInOut = 'Sign out'
export const signInAllOut = 'Sign out of all accounts'
export const signInAccounts = 'Accounts'
export const signInCountdown = (seconds: number) =>
  `No activity: signing out in ${duration(seconds)}. Press a key or click to stay signed in.`
export const signInInNamespace = (namespace: string) => `in ${namespace}`

// need
export const needTitle = (roles: string) => `This needs an account with the role ${roles}`
const onlyFor = (role: string, action: string) =>
  `Only users with the role ${role} can ${action}. Administrators cannot.`
export const needs = {
  Backup: onlyFor('Backup', 'make backups'),
  Metrics: onlyFor('Metrics', 'read metrics'),
  Operator: onlyFor('Operator', 'use keys'),
  Administrator: 'Only administrators can do this.',
  root: 'Only administrators outside any namespace can do this.',
}
export const needCreate = 'As an administrator, you can add such a user now:'
export const needCreateLink = (role: string) => `Add a user with the role ${role}`

// wizard
export const wizardTitle = 'Set up this Coffer'
export const wizardLead = 'It is empty. Start with new passphrases, or restore a backup of another appliance.'
export const wizardCertificate = 'Is this the right appliance?'
export const wizardCertificateText =
  'The browser cannot verify a self-signed certificate. With the “TLS key” from the appliance’s screen or log, this command connects to the right appliance only:'
export const wizardWay = 'Start with'
export const wizardUnlockHint =
  'Opens the store after each start. It cannot be reset: if you lose it, the data is lost.'
export const wizardAdmin = 'Passphrase of the administrator'
export const wizardAdminHint = 'For the first user, admin.'
export const wizardClockText = (difference: string) =>
  `The appliance will take the time of this computer. Its clock is now ${difference}.`
export const wizardAction = 'Set up'
export const wizardBusy = 'Setting up…'
export const wizardDone = 'Coffer is ready'
export const wizardDoneText = 'You are signed in as admin. Next steps, in this order:'
export const wizardNext = {
  key: 'Generate the first key',
  operator: 'Add an Operator to use the key',
  backup: 'Set a backup passphrase',
  backupUser: 'Add a Backup user to make backups',
  certificate: 'Install a certificate that browsers trust',
  log: 'Send the log to a server',
}

// unlock
export const unlockTitle = 'Coffer is locked'
export const unlockLead = 'No key is in memory. The unlock passphrase opens the store.'
export const unlockAction = 'Unlock'
export const unlockBusy = 'Unlocking…'
export const unlockWrong = 'Wrong unlock passphrase.'
export const unlockSince = (text: string) => `Locked for at least ${text}.`
export const unlockOtherwise = 'You can also enter it on the appliance’s own screen.'

// failed
export const failedTitle = 'Coffer has failed'
export const failedLead = 'The store cannot be opened, or an algorithm failed its self-test. No key is used.'
export const failedDiagnose = 'Diagnostics'

// forceNew
export const forceNew = 'Continue without the cluster'
export const forceNewText =
  'Use this only if the other members are lost. This appliance continues alone with the records that it has. The others must never start again.'
export const forceNewTyped = 'alone'

// unreachable
export const unreachableTitle = 'No connection'
export const unreachableLead =
  'The appliance does not respond: it is restarting, is off, or has another address. Retrying…'

// trial
export const trialTitle = 'An update is on trial'
export const trialLead =
  'The new version must open the store. If it cannot, the previous version starts again automatically.'

export const views = {
  overview: 'Overview',
  keys: 'Keys',
  users: 'Users',
  namespaces: 'Namespaces',
  audit: 'Audit log',
  chat: 'Chat',
  cluster: 'Cluster',
  settings: 'Settings',
  certificate: 'Certificate',
  backup: 'Backup',
  restore: 'Restore',
  update: 'Update',
  metrics: 'Metrics',
  system: 'System',
  account: 'My account',
}
export const leads: Partial<Record<keyof typeof views, string>> = {
  chat: 'The team chat of this appliance: one organization, on its own port. Its messages cannot be read here.',
  cluster: 'Several appliances with the same users and keys. A cluster of three keeps working if one of them fails.',
  namespaces:
    'A namespace has its own users, and keys that only they see. Add its first administrator before you create it: afterwards only its own administrators can add users.',
  certificate: 'The certificate that browsers and clients see when they connect.',
  backup:
    'One sealed file from which this or another Coffer can be restored. To open it, you need the backup passphrase and the current unlock passphrase.',
  metrics: 'Updated every five seconds. This tab keeps the last hour.',
}
export const notFound = 'No such view.'

// overview
export const overviewClockSame = 'the same as this computer’s'
export const overviewAttended = 'Attended: asks for the unlock passphrase'
export const overviewUnattended = 'Unattended: opens without a passphrase'
export const overviewCertificate = 'TLS certificate'
export const overviewDaysLeft = (days: number) => (days < 0 ? 'Expired' : `${count(days)} days left`)
export const overviewFarFuture = 'Self-signed'
export const overviewSetOn = (when: string) => `Set ${when}`
export const overviewNotSet = 'Not set, according to the audit log'
export const overviewLastBackup = 'Last complete backup'
export const overviewLastRestore = 'Last restore'
export const overviewLeftOut = (parts: number) => `${count(parts)} ${parts === 1 ? 'part' : 'parts'} omitted`
export const overviewNever = 'None on record'
export const overviewKeys = 'Keys'
export const overviewUsers = 'Users'
export const overviewLast = 'Last ten lines of the audit log'
export const overviewAttention = 'Needs attention'
export const overviewFine = 'Nothing needs attention.'
export const overviewClockOff = (text: string) => `The appliance’s clock is ${text} of this computer’s.`
export const overviewMend = {
  audit: 'Export the audit log',
  chat: 'View the chat',
  cluster: 'View the cluster',
  store: 'Restore a backup',
  system: 'View the system',
  backup: 'Set a passphrase',
  makeBackup: 'Make a backup',
  certificate: 'Renew the certificate',
  clock: 'Set the clock',
  syslog: 'View the log server',
  update: 'View updates',
}
export const overviewYou = 'Your accounts'
export const overviewYouMay = 'Permissions'

export const notWhole = (label: string) => `${label} must be a whole number.`

// directory
export const directoryReading = (read: number, all: number) =>
  `Loading details: ${count(read)} of ${count(all)}. Results are incomplete until then.`
export const directorySearch = 'Search'
export const directoryNone = 'No matches.'

// keys
export const keysSearchHint = 'Searches names, types, labels and tags.'
export const keysMine = 'Only keys that I can use'
export const keysNone = 'No keys yet.'
export const keysCaption = (all: number) => `${count(all)} ${all === 1 ? 'key' : 'keys'}`
export const keysId = 'Key'

// newKey
export const newKeyPurpose = 'Purpose'
export const newKeyByHand = 'Custom'
export const newKeyIdHint = 'Leave empty to generate a name.'
export const newKeyLabelHint = 'Free text of at most 32 bytes.'
export const newKeyTagsHint = 'Separated by spaces. Only operators with one of them may use the key.'
export const newKeyLength = 'Length in bits'
export const newKeyMechanisms = 'Mechanisms'
export const newKeyAction = 'Generate the key'
export const newKeyBusy = (rsa: boolean) =>
  rsa ? 'Generating the key; RSA takes some seconds…' : 'Generating the key…'
export const newKeyNoMechanism = 'Choose at least one mechanism.'

// importKey
export const importKeyFile = 'Private key in PEM (PKCS#8, PKCS#1 or SEC 1) or DER (PKCS#8)'
export const importKeyFileHint = 'Drop the file here, or paste its text below. It is sent once, over TLS.'
export const importKeyText = 'Or paste its text'
export const importKeyAction = 'Import'
export const importKeyBusy = 'Importing…'
export const importKeyMissing = 'Choose a file, or paste the text.'
export const importKeyMechanisms = 'Choose the mechanisms that fit the type of the key.'

// key
export const keyMechanisms = 'Mechanisms'
export const keyTags = 'Only operators with one of the tags'
export const keyEveryone = 'All operators'
export const keyPublic = 'Public key'
export const keyFingerprint = 'Fingerprint'
export const keyFormats = { pem: 'PEM', jwk: 'JWK', ssh: 'SSH' }
export const keyCertificate = 'Certificate'
export const keyNoCertificate = 'No certificate is stored with this key.'
export const keyStoreCertificate = 'Store a certificate'
export const keyStoreCertificateFile = 'Certificate (PEM or DER)'
export const keyNotCertificate = 'This file does not hold a certificate in PEM or DER.'
export const keyRemoveCertificateText = 'The certificate is deleted permanently. Save a copy first if you need it.'
export const keyStoring = 'Storing…'
export const keyRemoveCertificate = 'Remove the certificate'
export const keyRequest = 'Certificate request'
export const keyRequestAction = 'Make a request'
export const keyRequesting = 'Making the request…'
export const keyManage = 'Manage'
export const keySaveLabel = 'Save the label'
export const keyAddTag = 'Add a tag'
export const keyRemoveTag = (tag: string) => `Remove the tag ${tag}`
export const keyRename = 'Rename'
export const keyRenaming = 'Renaming…'
export const keyNewId = 'New name'
export const keyDelete = 'Delete this key'
export const keyDeleteText = 'The key and its certificate are deleted permanently. Only a backup brings them back.'
export const keyMechanism = (name: string): string => {
  if (name === 'ECDSA_Signature') return 'Sign (ECDSA)'
  if (name === 'EdDSA_Signature' || name === 'ED25519_Signature') return 'Sign (Ed25519)'
  if (name === 'BIP340_Signature') return 'Sign (Schnorr, BIP 340)'
  if (name === 'AES_Encryption_CBC') return 'Encrypt (AES-CBC)'
  if (name === 'AES_Decryption_CBC') return 'Decrypt (AES-CBC)'
  if (name === 'XAES_Encryption_GCM') return 'Encrypt (XAES-256-GCM)'
  if (name === 'XAES_Decryption_GCM') return 'Decrypt (XAES-256-GCM)'
  const [, use, rest] = /^RSA_(Signature|Decryption)_(.+)$/.exec(name) ?? []
  return rest ? `${use === 'Signature' ? 'Sign' : 'Decrypt'} (RSA ${rest.replace('_', ', ')})` : name
}

// use
export const useSign = 'Sign'
export const useMode = 'Mode'
export const useWhat = 'Data to sign'
export const useFileHint = 'The browser hashes the file and sends only the digest.'
export const useWholeHint = 'This mode signs the file itself: all of it is sent, at most 48 MB.'
export const useTooLarge = 'The file is too large for this mode.'
export const useHashing = (done: number, all: number) => `Hashing: ${bytes(done)} of ${bytes(all)}`
export const useSigning = 'Signing…'
export const useSignature = 'Signature in base64'
export const useVerified = 'Verified by the browser with the public key.'
export const useNotVerified = 'The signature does not match the public key.'
export const useCannotVerify = 'The browser cannot verify signatures of this mode.'
export const useSame = 'Equivalent command'
export const useDecrypt = 'Decrypt'
export const useDecrypting = 'Decrypting…'
export const useEncrypted = 'Encrypted data, in base64'
export const useIv = 'Initialization vector, in base64'
export const usePlain = 'Decrypted'
export const usePlainBase64 = 'Decrypted, in base64'
export const useNotBase64 = 'Not valid base64.'

// users
export const usersCaption = (all: number) => `${count(all)} ${all === 1 ? 'user' : 'users'}`
export const usersAdd = 'Add a user'
export const usersRole = 'Role'
export const usersId = 'User name'
export const usersIdHint = 'Leave empty to generate a name. In a namespace: namespace~name.'
export const usersRealName = 'Real name'
export const usersAdding = 'Adding…'
export const usersSettingPassphrase = 'Setting…'
export const usersPassphraseSet = 'The passphrase is set.'
export const usersDelete = 'Delete this user'
export const usersDeleteText = 'The account is deleted immediately. Its requests in progress are refused.'
export const usersTagsText = 'Operators can use a tagged key only if they have one of its tags.'
export const usersWhat = 'Permissions of the roles'
export const usersBadId = 'Use letters, digits, dot, hyphen and underscore. Begin with a letter or digit.'
export const usersYou = 'you'
export const usersHandedOver = 'The namespace of this user exists, so only its own administrators can change the user.'
export const usersSearchHint = 'Searches names, roles, real names and tags.'

// namespaces
export const namespacesCaption = (all: number) => `${count(all)} ${all === 1 ? 'namespace' : 'namespaces'}`
export const namespacesAdd = 'Create a namespace'
export const namespacesDelete = 'Delete'
export const namespacesDeleteTitle = (id: string) => `Delete the namespace ${id}`
export const namespacesDeleteText = 'All its keys are deleted permanently. Its users remain, but have no rights.'
export const namespacesQuota = 'Quota'
export const namespacesQuotaText =
  'The maximum number of keys and users in the namespace. Existing ones above the maximum remain, but none can be added.'
export const namespacesKeys = 'Maximum number of keys'
export const namespacesUsers = 'Maximum number of users'
export const namespacesNoAdmin = 'This namespace has no users yet, so nobody could use it. Create it anyway?'

// audit
export const auditFilter = 'Filter'
export const auditMore = 'Older lines'
export const auditNone = 'No lines match.'
export const auditCaption = 'Newest first'
export const auditTime = 'Time'
export const auditWho = 'User'
export const auditWhat = 'Action'
export const auditResult = 'Result'
export const auditJson = (sequence: number) => `Line ${sequence} as JSON`
export const auditNobody = 'No account'
export const auditFromAddress = (address: string) => `from ${address}`
export const auditSkipped = (more: number) => `${count(more)} similar lines before it were omitted.`
export const auditExport = 'Export all'
export const auditExporting = (done: number) => `Exporting: ${bytes(done)}`
export const auditVerifyText =
  'Recomputes the hash chain over all lines, and checks the signature of its head. The values that you noted last time show that no older copy was put back.'
export const auditVerifyFile = 'Exported file (none: the current log)'
export const auditKnown = 'Noted number'
export const auditKnownHash = 'Noted hash'
export const auditKeyNoted = 'Noted key of the appliance'
export const auditVerifying = (lines: number) => `Verifying: ${count(lines)} lines`
export const auditGood = (lines: number, first: number, last: number) =>
  `${count(lines)} lines, ${count(first)} to ${count(last)}: nothing changed, missing or reordered.`
export const auditOverwritten = (lines: number) => `${count(lines)} lines between them were overwritten, as configured.`
export const auditNote = 'Note for the next verification'
export const auditBad = 'The log is not authentic'
export const auditKnownBoth = 'Enter both the number and the hash.'
// settings
export const settingsSaved = 'Saved.'
export const settingsSave = (what: string) => `Save: ${what}`
export const settingsClockNow = (appliance: string) => `Time of the appliance: ${appliance}`
export const settingsClockAction = 'Set to this computer’s time'
export const settingsNetwork = 'Network'
export const settingsNetworkText =
  'This page follows the appliance to its new address. On a host computer, Coffer does not change the network.'
export const settingsNetworkMoved = 'The appliance is now at its new address:'
export const settingsAddress = 'IPv4 address'
export const settingsNetmask = 'Netmask'
export const settingsGateway = 'Gateway (0.0.0.0 for none)'
export const settingsIpv6 = 'IPv6 address and prefix (empty for none)'
export const settingsIpv6Gateway = 'IPv6 gateway'
export const settingsTime = 'Time server'
export const settingsNtpIp = 'Address of an NTP server'
export const settingsNtsName = 'Name of an NTS server'
export const settingsInterfaces = 'Transit API'
export const settingsInterfacesText =
  "OpenBao's and Vault's transit API over the same keys, on this port below /v1/, for programs that know it. A change holds for this node alone."
export const settingsTransit = 'Transit API'
export const settingsOff = 'off'
export const settingsOn = 'on'
export const settingsTokenHours = 'Lifetime of login tokens in hours (1 to 768)'
export const syslog = 'Log server over TLS'
export const syslogText =
  'The server confirms what it has, and lines of the audit log that it has not confirmed are sent again, also after a restart and while the appliance is locked. A key for a client certificate is made with coffer config syslog tls generate.'
export const syslogServer = 'Name of the log server over TLS'
export const syslogServerHint = 'A host name or an IP address. Empty for none.'
export const syslogPort = 'Port for TLS'
export const syslogSend = 'Lines to send'
export const syslogSendAll = 'the audit log and the log'
export const syslogSendAudit = 'the audit log'
export const syslogSendLog = 'the log'
export const syslogFingerprints = 'Fingerprints of its certificate'
export const syslogFingerprintsHint =
  'Up to four such as sha-256:0A:1B:…, separated by spaces. Empty: its name and authority are verified.'
export const syslogStatus = ({
  state,
  confirmed,
  waiting,
  problem,
}: {
  state: string
  confirmed: number
  waiting: number
  problem?: string
}): string => {
  if (state === 'off') return 'Nothing is sent.'
  const progress = `Confirmed up to line ${confirmed} of the audit log; ${waiting} ${waiting === 1 ? 'line waits' : 'lines wait'}.`
  return problem === undefined ? progress : `${problem}. ${progress}`
}
export const outgoing = 'Outgoing connections'
export const outgoingText =
  'How the appliance reaches other hosts, for webhooks of the chat. Further authorities are set with coffer config outgoing --authorities FILE.'
export const outgoingResolvers = 'Servers of names'
export const outgoingResolversHint =
  'Up to four addresses, separated by spaces. Without one a device resolves no name; a host asks its system.'
export const outgoingProxy = 'Proxy'
export const outgoingProxyHint =
  'Host and port, such as proxy.example.org:3128. TLS connections go through it. Empty for none.'
export const outgoingProxyUser = 'User of the proxy'
export const outgoingProxyPassword = 'Password of the proxy'
export const outgoingPasswordHint = 'Empty: the password stays as it is. It is never shown.'
export const outgoingProxyExcept = 'Without the proxy'
export const outgoingExceptHint = 'Hosts, .suffixes and networks such as 10.0.0.0/8, separated by spaces.'
export const outgoingPublic = 'Public authorities'
export const outgoingPublicOn = 'trusted'
export const outgoingPublicOff = 'not trusted'
export const outgoingNoPlace = 'The proxy must be a host and a port, such as proxy.example.org:3128.'
export const outgoingTest = 'Test of a connection'
export const outgoingTestText = 'The appliance connects to the host with TLS and sends nothing.'
export const outgoingTestAction = 'Test the connection'
export const outgoingTesting = 'Connecting'
export const outgoingHost = 'Host'
export const outgoingPort = 'Port'
export const outgoingFound = ({
  addresses,
  tls,
  problem,
}: {
  addresses: string[]
  tls?: { version: string; names: string[]; notAfter: string }
  problem?: string
}): string =>
  [
    problem === undefined ? 'The connection works.' : `${problem}.`,
    ...(addresses.length === 0 ? [] : [`Addresses: ${addresses.join(', ')}.`]),
    ...(tls === undefined
      ? []
      : [`${tls.version}, certificate for ${tls.names.join(', ')} until ${tls.notAfter.slice(0, 10)}.`]),
  ].join(' ')
export const settingsLog = 'Log'
export const settingsLogAddress = 'Address of the log server (0.0.0.0 for none)'
export const settingsLogPort = 'Port'
export const settingsLogLevel = 'Level'
export const settingsBootText =
  'Attended: the appliance asks for the unlock passphrase after each start. Unattended: it opens without it. With a TPM it then opens on this machine only; without a TPM, anyone who steals the disk has the keys.'
export const settingsAttended = 'Attended'
export const settingsUnattended = 'Unattended'
export const settingsBackupText =
  'Seals backups. To restore a backup, you need its backup passphrase and the unlock passphrase at the time of the backup.'
export const settingsCurrent = 'Current passphrase'
export const settingsCurrentHint = 'Leave empty if none is set.'
export const settingsSet = (what: string) => `Set the ${what.toLowerCase()}`
export const settingsAudit = 'Audit log'
export const settingsAuditText = 'Maximum number of lines of each kind, from 1,000 to 10,000,000.'
export const settingsChanges = 'Changes'
export const settingsRefusals = 'Refusals'
export const settingsUses = 'Uses of keys'
export const settingsWhenFull = 'When the log of uses is full'
export const settingsOverwrite = 'Overwrite the oldest lines'
export const settingsRefuse = 'Refuse uses until the log is exported'
export const settingsPage = 'Web console'
export const settingsIdle = 'Idle limit in minutes (1 to 10)'
export const settingsHours = 'Maximum session in hours (1 to 8)'

// certificate
export const certificateInUse = 'Certificate in use'
export const certificateMissing = 'This file does not hold a certificate in PEM.'
export const certificateSubject = 'Subject'
export const certificateIssuer = 'Issuer'
export const certificateNames = 'Names'
export const certificateValid = 'Valid'
export const certificateValidText = (from: string, to: string) => `${from} to ${to}`
export const certificateSerial = 'Serial number'
export const certificateFingerprint = 'SHA-256 of the certificate'
export const certificateKey = 'SHA-256 of the public key'
export const certificateKeyHint = 'It is also on the appliance’s screen and in its log.'
export const certificateChain = (more: number) => `and ${more} more in its chain`
export const certificateRequest = 'Request a certificate'
export const certificateRequestText = 'Give the request to your certificate authority, and install what it returns.'
export const certificateInstall = 'Install a certificate'
export const certificateInstallFile = 'Certificate chain in PEM, the appliance’s certificate first'
export const certificateInstalling = 'Installing…'
export const certificateGenerateText =
  'Generates a key with a self-signed certificate. Pins of the old key no longer match.'
export const certificateGenerateAction = 'Generate a new key'
export const certificateTyped = 'new key'
export const certificateAfterwards =
  'New connections get the new certificate. Reload this page; the browser may warn about the certificate.'
export const certificateFields = {
  commonName: 'Common name',
  subjectAltNames: 'Other names, separated by spaces',
  organizationName: 'Organization',
  organizationalUnitName: 'Unit',
  localityName: 'City',
  stateOrProvinceName: 'State or province',
  countryName: 'Country, two letters',
  emailAddress: 'Email address',
}
export const certificateMore = 'More fields'

// backup
export const backupForm = 'Format'
export const backupForms = { nethsm: 'NetHSM: other tools can read it', coffer: 'Coffer: holds everything' }
const omissions: Record<string, string> = {
  chat: 'the team chat',
  'namespace-quotas': 'the quotas of namespaces',
  interfaces: 'the switch of the transit API',
  'access-keys': 'access keys',
  'key-versions': 'versions of keys',
  ntp: 'the time server',
  console: 'the setting that switches this page off',
  'cluster-tls': 'the key and certificate for members of a cluster',
  outgoing: 'the settings of outgoing connections',
  acme: 'the settings of ACME',
  syslog: 'the settings of the log server over TLS',
  mail: 'where alerts are mailed',
}
const omissionWords = (names: readonly string[]) => names.map((name) => omissions[name] ?? name).join(', ')
export const backupWillOmit = (names: readonly string[]) =>
  `A backup in this format is incomplete. It omits: ${omissionWords(names)}.`
export const backupDidOmit = (name: string, size: number, names: readonly string[]) =>
  `${name}, ${bytes(size)}: saved, but incomplete. It omits: ${omissionWords(names)}.`
export const backupAction = 'Make a backup'
export const backupRunning = (done: number, rate: number) => `${bytes(done)} so far, ${bytes(rate)} a second`
export const backupDone = (name: string, size: number) => `${name}, ${bytes(size)}: complete.`
export const backupCanceled = 'Canceled. The file is incomplete and cannot be restored.'
export const backupNoPassphrase = 'No backup passphrase is set. An administrator sets one in Settings.'

// restore
export const restoreReplaces = 'What will be replaced'
export const restoreReplacesFull = 'Everything: this appliance becomes the one in the backup.'
export const restoreReplacesPart =
  'All users, including your account, all keys and namespaces, and the unlock and backup passphrases. Network, certificate, log and boot mode remain.'
export const restoreFile = 'Backup'
export const restoreFileHint = 'A backup file of a Coffer or a NetHSM.'
export const restorePassphraseHint = 'The backup passphrase at the time of the backup.'
export const restoreAction = 'Restore'
export const restoreTyped = 'restore'
export const restoreLeftOut = 'Omitted by the last restore'
export const restoreLeftOutMore = (more: number) => `And ${count(more)} more.`
export const sending = (done: number, all: number) => `${bytes(done)} of ${bytes(all)} sent`
export const restoreChecking = (seconds: number) => `Sent. Checking and installing: ${duration(seconds)}`
export const restoreDone =
  'Restored. If the appliance is locked, enter the unlock passphrase at the time of the backup. The view Restore lists omitted parts.'
export const unchanged = 'Nothing was changed.'
export const stopped = 'Stopped before everything was sent. Nothing was changed.'

// update
export const updateLead = (version: string) => `Version ${version} is installed.`
export const updateFile = 'Update image'
export const updateFileHint = 'A file that ends in .update. It is verified before anything in it runs.'
export const updateUpload = 'Upload'
export const updateChecking = (seconds: number) => `Sent. Checking: ${duration(seconds)}`
export const updateNotes = 'Release notes'
export const updatePending = 'The image is valid. Install it, or discard it.'
export const updateDiscard = 'Discard'
export const updateDiscarding = 'Discarding…'
export const updateDiscarded = 'The image was discarded. Nothing was changed.'
export const updatePendingAlready = 'An uploaded update is pending. Discard it before you upload another one.'
export const updateWatch = 'The appliance restarts and tries the new version. This page shows the result.'
export const updateGood = (version: string) => `Version ${version} is running and has passed its trial.`
export const updateFellBack = 'The new version failed its trial. The previous version is running again.'
export const updateLastFallback = 'The last update was rolled back'

// metrics
export const metricsRequests = 'Requests a second'
export const metricsLatency = 'Response time'
export const metricsOperations = 'Key operations a second'
export const metricsMemory = 'Memory'
export const metricsUptime = 'Uptime'
export const metricsByStatus = 'Requests by status'
export const metricsStatus = 'Status'
export const metricsNumber = 'Number'
export const metricsWarnings = 'Warnings in the log'
export const metricsErrors = 'Errors in the log'
export const metricsPrometheus = 'Connect Prometheus'
export const metricsPrometheusText = 'Prometheus signs in as this user. Put the passphrase into the file that is named.'
export const metricsLine = (name: string, value: string, points: number) => `${name}: now ${value}, ${points} values`
export const metricsMilliseconds = (value: number) => `${value.toFixed(1)} ms`

// system
export const systemBuild = 'Build'
export const systemDevice = 'Device id'
export const systemHardware = 'Hardware'
export const systemFirmware = 'Boot firmware'
export const systemEngine = 'RSA arithmetic'
export const systemPcr = 'TPM registers'
export const systemLock = 'Lock'
export const systemLockText = 'Removes all keys from memory. The unlock passphrase opens the appliance again.'
export const systemLocking = 'Locking…'
export const systemRebootText = 'Takes some seconds. An attended appliance then asks for the unlock passphrase.'
export const systemShutdown = 'Shut down'
export const systemShutdownText = 'Afterwards the appliance must be switched on by hand.'
export const systemShuttingDown = 'Shutting down…'
export const systemResetText =
  'Erases all keys, users and settings, and the key that seals the disk. Only a backup brings them back.'
export const systemResetTyped = 'factory reset'
export const systemResetting = 'Erasing…'

// account
export const accountPassphrase = 'Change my passphrase'
export const accountPassphraseText = 'You stay signed in, with the new passphrase.'
export const accountSetting = 'Changing…'
export const accountDone = 'Your passphrase is changed.'
export const accessKeys = 'Access keys'
export const accessKeysText =
  'Tokens for programs that use the transit API. They do not expire, and act with your rights until you delete them.'
export const accessKeysNone = 'You have no access keys.'
export const accessKeysName = 'Name of the access key'
export const accessKeysMake = 'Create an access key'
export const accessKeysMaking = 'Creating…'
export const accessKeysOnce = 'Copy the token now. It is not shown again.'
export const accessKeysToken = 'Token'
export const accessKeysBao = 'Commands for bao'
export const accessKeysSops = 'Commands for SOPS'
export const accessKeysDelete = 'Delete'
export const accessKeysDeleteNamed = (name: string) => `Delete the access key ${name}`
export const accessKeysDeleteText = 'Programs that use this access key are refused from now on.'
export const usersAccessKeysText =
  'Tokens of the transit API that the user has made. Only the user can make one; you can delete them.'
export const usersAccessKeysNone = 'The user has no access keys.'
export const accountTags = 'My tags'
export const accountNoTags = 'No tags: you cannot use tagged keys.'

export const auditFields = {
  user: 'User',
  action: 'Action contains',
  key: 'Key',
  from: 'From (UTC)',
  to: 'To (UTC)',
}

export const signInReasons = {
  idle: 'You were signed out because of inactivity.',
  long: 'You were signed out because the session reached its maximum length.',
  left: 'You were signed out when you left the page.',
}

export const useKinds = {
  text: 'Text',
  file: 'File',
}

export const wizardWays = {
  fresh: 'New passphrases',
  restore: 'A backup',
}
