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
export const unknown = 'Not known'
export const ahead = 'ahead'
export const behind = 'behind'
export const optional = 'optional'
export const file = (name: string, size: number) => `${name}, ${bytes(size)}`
export const docs = 'API documents'
export const theme = 'Appearance'
export const themes = { auto: 'As the computer', light: 'Light', dark: 'Dark' }

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
  Administrator: 'Manages keys, users and the appliance. Cannot use a key.',
  Operator: 'Uses keys: signs, decrypts, encrypts. Cannot change one.',
  Metrics: 'Reads numbers for monitoring, and nothing else.',
  Backup: 'Makes backups, and nothing else.',
}

// passphrase
export const passphraseShow = 'Show what is typed'
export const passphraseHideShort = 'Hide'
export const passphraseAgain = (label: string) => `${label}, again`
export const passphraseRule = (size: number) => `10 to 200 bytes; ${size} typed.`
export const passphraseMissing = 'Type a passphrase.'
export const passphraseShort = (size: number) => `At least 10 bytes; these are ${size}.`
export const passphraseLong = (size: number) => `At most 200 bytes; these are ${size}.`
export const passphraseDiffer = 'The two texts differ.'

// confirm
export const confirmLabel = (text: string) => `Type “${text}” to confirm`
export const confirmWrong = 'The text does not match.'

// problem
export const problemTitle = 'That did not work'
export const problemStatus = (status: number) => `Status ${status}`
export const problemOffline = 'The appliance does not answer.'
export const problemChanged =
  'Another administrator changed this meanwhile. The view now shows the new values: check them, then try again.'
export const problemTaken = 'Choose another name.'
export const problemWrongCredentials = 'User or passphrase is wrong.'

// signIn
export const signInUserHint = 'The first administrator is admin. Users of a namespace sign in as namespace~name.'
export const signInBusy = 'Signing in…'
export const signInKept = 'The passphrase is kept in this tab only, until you sign out, reload or leave it.'
export const signInFull = 'Four accounts are signed in. Sign one out first.'
export const signInAnother = 'Another account'
export const signInOut = 'Sign out'
export const signInAllOut = 'Sign out everything'
export const signInAccounts = 'Accounts'
export const signInCountdown = (seconds: number) =>
  `Nobody there? Signing out in ${duration(seconds)}. Any key or click stays signed in.`
export const signInInNamespace = (namespace: string) => `in ${namespace}`

// need
export const needTitle = (roles: string) => `This needs an account with the role ${roles}`
const onlyBy = (what: string, role: string) => `${what} by a user with the role ${role}. An administrator cannot.`
export const needs = {
  Backup: onlyBy('A backup is made', 'Backup'),
  Metrics: onlyBy('The numbers are read', 'Metrics'),
  Operator: onlyBy('Keys are used', 'Operator'),
  Administrator: 'This is done by an administrator.',
  root: 'This is done by an administrator outside any namespace.',
}
export const needCreate = 'As an administrator you can create one now:'
export const needCreateLink = (role: string) => `Add a user with the role ${role}`

// wizard
export const wizardTitle = 'Set up this Coffer'
export const wizardLead = 'It holds nothing yet. Begin with new passphrases, or with a backup of another one.'
export const wizardCertificate = 'Is this the right appliance?'
export const wizardCertificateText =
  'Its certificate is signed by itself, so the browser cannot tell. With the “TLS key” from the appliance’s screen or log, this answers only if it is:'
export const wizardWay = 'How to begin'
export const wizardUnlockHint = 'Opens the store after each start. Nobody can reset it: if it is lost, so is the data.'
export const wizardAdmin = 'Passphrase of the administrator'
export const wizardAdminHint = 'Of the first user, admin.'
export const wizardClockText = (difference: string) =>
  `The appliance takes the time of this computer. Its own clock is now ${difference}.`
export const wizardAction = 'Set up'
export const wizardBusy = 'Setting up…'
export const wizardDone = 'Coffer is ready'
export const wizardDoneText = 'You are signed in as admin. What to do next, in this order:'
export const wizardNext = {
  key: 'Make the first key',
  operator: 'Add an Operator, who may use it',
  backup: 'Set a backup passphrase',
  backupUser: 'Add a Backup user, who may make backups',
  certificate: 'Install a certificate that browsers trust',
  log: 'Send the log to a server',
}

// unlock
export const unlockTitle = 'Coffer is locked'
export const unlockLead = 'No key is in memory. The unlock passphrase opens the store.'
export const unlockAction = 'Unlock'
export const unlockBusy = 'Unlocking…'
export const unlockWrong = 'That is not the unlock passphrase.'
export const unlockSince = (text: string) => `Locked for ${text}, as seen by this page.`
export const unlockOtherwise = 'On the appliance’s own screen it can be typed, too.'

// failed
export const failedTitle = 'Coffer has failed'
export const failedLead = 'The store cannot be opened, or an algorithm did not give the known answer. No key is used.'
export const failedDiagnose = 'Diagnostics'

// forceNew
export const forceNew = 'Continue without the cluster'
export const forceNewText =
  'Use it when the other members are lost. This appliance goes on alone with all records it has; the others must not start again.'
export const forceNewTyped = 'alone'

// unreachable
export const unreachableTitle = 'No connection'
export const unreachableLead = 'The appliance does not answer: it restarts, is off, or has another address. Retrying…'

// trial
export const trialTitle = 'An update is on trial'
export const trialLead =
  'The new version shows that it can open the store. If it cannot, the version before comes back by itself.'

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
  chat: 'The team chat of this appliance: one organization, at a port of its own. Its messages cannot be read here.',
  cluster: 'Several appliances with the same users and keys. A cluster of three goes on when one of them fails.',
  namespaces:
    'A namespace has its own users, and keys that only they see. Add its first administrator before you make it: afterwards only its own administrators add users.',
  certificate: 'What browsers and clients see when they connect.',
  backup:
    'One sealed file that this or another Coffer is restored from. To open it you need the backup passphrase, and the current unlock passphrase.',
  metrics: 'Every five seconds, the last hour in this tab.',
}
export const notFound = 'There is no such view.'

// overview
export const overviewClockSame = 'the same as this computer’s'
export const overviewAttended = 'Attended: asks for the unlock passphrase'
export const overviewUnattended = 'Unattended: opens by itself'
export const overviewCertificate = 'TLS certificate'
export const overviewDaysLeft = (days: number) => (days < 0 ? 'Expired' : `${count(days)} days left`)
export const overviewFarFuture = 'Signed by itself'
export const overviewSetOn = (when: string) => `Set ${when}`
export const overviewNotSet = 'Not set according to the audit log'
export const overviewLastBackup = 'Last complete backup'
export const overviewLastRestore = 'Last restore'
export const overviewLeftOut = (parts: number) => `${count(parts)} ${parts === 1 ? 'part' : 'parts'} left out`
export const overviewNever = 'None on record'
export const overviewKeys = 'Keys'
export const overviewUsers = 'Users'
export const overviewLast = 'Last ten lines of the audit log'
export const overviewAttention = 'Needs attention'
export const overviewFine = 'Nothing needs attention.'
export const overviewNoBackup = 'No backup passphrase is set, so no backup can be made.'
export const overviewNeverBackup = 'No complete backup is on record.'
export const overviewOldBackup = (text: string) => `The last complete backup is ${text} old.`
export const overviewExpires = (days: number) => `The TLS certificate ends in ${days} days.`
export const overviewExpired = 'The TLS certificate has ended.'
export const overviewClockOff = (text: string) => `The appliance’s clock is ${text} of this computer’s.`
export const overviewFellBack = (text: string) => `The last update was left: ${text}`
export const overviewMend = {
  backup: 'Set one',
  makeBackup: 'Make a backup',
  certificate: 'Renew it',
  clock: 'Set the clock',
  update: 'Look at updates',
}
export const overviewYou = 'You'
export const overviewYouMay = 'What you may do'

export const notWhole = (label: string) => `${label}: must be a whole number.`

// directory
export const directoryReading = (read: number, all: number) =>
  `Reading the details: ${count(read)} of ${count(all)}. Results are incomplete until then.`
export const directorySearch = 'Search'
export const directoryNone = 'No matches.'

// keys
export const keysSearchHint = 'By any part of name, type, label or tags.'
export const keysMine = 'Only those that I may use'
export const keysNone = 'There is no key yet.'
export const keysCaption = (all: number) => `${count(all)} ${all === 1 ? 'key' : 'keys'}`
export const keysId = 'Key'

// newKey
export const newKeyPurpose = 'What is it for?'
export const newKeyByHand = 'Something else, by hand'
export const newKeyIdHint = 'Empty: a name is generated.'
export const newKeyLabelHint = 'Free text, 32 bytes at most.'
export const newKeyTagsHint = 'Separated by spaces. Only operators with one of them may use the key.'
export const newKeyLength = 'Length in bits'
export const newKeyMechanisms = 'Mechanisms'
export const newKeyAction = 'Make the key'
export const newKeyBusy = (rsa: boolean) => (rsa ? 'Making the key; RSA takes some seconds…' : 'Making the key…')
export const newKeyNoMechanism = 'Choose at least one mechanism.'

// importKey
export const importKeyFile = 'Private key in PEM (PKCS#8, PKCS#1 or SEC 1) or DER (PKCS#8)'
export const importKeyFileHint = 'Drop the file here, or paste its text below. It leaves this computer once, over TLS.'
export const importKeyText = 'Or its text'
export const importKeyAction = 'Import'
export const importKeyBusy = 'Importing…'
export const importKeyMissing = 'Choose a file, or paste the text.'
export const importKeyMechanisms = 'What may it do? Choose what fits its type.'

// key
export const keyMechanisms = 'May do'
export const keyTags = 'Only for operators with a tag of'
export const keyEveryone = 'All operators may use it'
export const keyPublic = 'Public key'
export const keyFingerprint = 'Fingerprint'
export const keyFormats = { pem: 'PEM', jwk: 'JWK', ssh: 'SSH' }
export const keyCertificate = 'Certificate'
export const keyNoCertificate = 'None is stored with this key.'
export const keyStoreCertificate = 'Store a certificate'
export const keyStoreCertificateFile = 'Certificate (PEM or DER)'
export const keyNotCertificate = 'This file does not hold a certificate in PEM or DER.'
export const keyRemoveCertificateText = 'The certificate is deleted for good, unless you have a copy.'
export const keyStoring = 'Storing…'
export const keyRemoveCertificate = 'Remove the certificate'
export const keyRequest = 'Certificate request'
export const keyRequestAction = 'Make a request'
export const keyRequesting = 'Making the request…'
export const keyManage = 'Change it'
export const keySaveLabel = 'Save the label'
export const keyAddTag = 'Add a tag'
export const keyRemoveTag = (tag: string) => `Remove the tag ${tag}`
export const keyRename = 'Rename'
export const keyRenaming = 'Renaming…'
export const keyNewId = 'New name'
export const keyDelete = 'Delete this key'
export const keyDeleteText = 'The key and its certificate are deleted for good; only a backup still holds them.'
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
export const useMode = 'How'
export const useWhat = 'What to sign'
export const useFileHint = 'It is hashed here; only the digest is sent.'
export const useWholeHint = 'Ed25519 signs the file itself, which is sent whole: 48 MB at most.'
export const useTooLarge = 'Too large to be signed whole.'
export const useHashing = (done: number, all: number) => `Hashing: ${bytes(done)} of ${bytes(all)}`
export const useSigning = 'Signing…'
export const useSignature = 'Signature in base64'
export const useVerified = 'Verified here with the public key.'
export const useNotVerified = 'The signature does not fit the public key.'
export const useCannotVerify = 'This kind cannot be verified here.'
export const useSame = 'The same as a command'
export const useDecrypt = 'Decrypt'
export const useDecrypting = 'Decrypting…'
export const useEncrypted = 'What was encrypted, in base64'
export const useIv = 'Initialization vector, in base64'
export const usePlain = 'Decrypted'
export const usePlainBase64 = 'Decrypted, in base64'
export const useNotBase64 = 'Not valid base64.'

// users
export const usersCaption = (all: number) => `${count(all)} ${all === 1 ? 'user' : 'users'}`
export const usersAdd = 'Add a user'
export const usersRole = 'Role'
export const usersId = 'User name'
export const usersIdHint = 'Empty: a name is generated. For a namespace: namespace~name.'
export const usersRealName = 'Real name'
export const usersAdding = 'Adding…'
export const usersSettingPassphrase = 'Setting…'
export const usersPassphraseSet = 'The passphrase is set.'
export const usersDelete = 'Delete this user'
export const usersDeleteText = 'The account is deleted at once; requests in progress are refused.'
export const usersTagsText = 'An operator may use a key with tags only with one of them.'
export const usersWhat = 'What each role may'
export const usersBadId = 'Letters, digits, dot, hyphen and underscore; it begins with a letter or digit.'
export const usersYou = 'you'
export const usersHandedOver = 'The namespace of this user exists; only its own administrators change the user.'
export const usersSearchHint = 'By any part of name, role, real name or tags.'

// namespaces
export const namespacesCaption = (all: number) => `${count(all)} ${all === 1 ? 'namespace' : 'namespaces'}`
export const namespacesAdd = 'Make a namespace'
export const namespacesDelete = 'Delete'
export const namespacesDeleteTitle = (id: string) => `Delete the namespace ${id}`
export const namespacesDeleteText = 'All its keys are deleted for good. Its users stay, but have no rights.'
export const namespacesQuota = 'Quota'
export const namespacesQuotaText =
  'How many keys and users the namespace may have. If it has more already, they stay, and none are added.'
export const namespacesKeys = 'Keys at most'
export const namespacesUsers = 'Users at most'
export const namespacesNoAdmin = 'No user of this namespace exists yet, so it could not be used. Make it anyway?'

// audit
export const auditFilter = 'Filter'
export const auditMore = 'Older lines'
export const auditNone = 'No lines match.'
export const auditCaption = 'Newest first'
export const auditTime = 'Time'
export const auditWho = 'Who'
export const auditWhat = 'What'
export const auditResult = 'Result'
export const auditJson = (sequence: number) => `Line ${sequence} as JSON`
export const auditNobody = 'Somebody without an account'
export const auditFromAddress = (address: string) => `from ${address}`
export const auditSkipped = (more: number) => `${count(more)} like it were left out before.`
export const auditExport = 'Export all'
export const auditExporting = (done: number) => `Exporting: ${bytes(done)}`
export const auditVerifyText =
  'Computes the chain of hashes over every line, and checks the signature of its end. What you noted before shows that it was not put back.'
export const auditVerifyFile = 'An exported file, or none for the log as it is now'
export const auditKnown = 'Noted number'
export const auditKnownHash = 'Noted hash'
export const auditKeyNoted = 'Noted key of the appliance'
export const auditVerifying = (lines: number) => `Verifying: ${count(lines)} lines`
export const auditGood = (lines: number, first: number, last: number) =>
  `${count(lines)} lines, ${count(first)} to ${count(last)}: nothing changed, missing or reordered.`
export const auditOverwritten = (lines: number) =>
  `${count(lines)} lines between them were overwritten, as the settings say.`
export const auditNote = 'To note for the next time'
export const auditBad = 'The log is not authentic'
export const auditKnownBoth = 'Number and hash belong together.'
// settings
export const settingsSaved = 'Saved.'
export const settingsSave = (what: string) => `Save: ${what}`
export const settingsClockNow = (appliance: string) => `The appliance has ${appliance}`
export const settingsClockAction = 'Take this computer’s time'
export const settingsNetwork = 'Network'
export const settingsNetworkText =
  'The page moves with the appliance. On a computer, the network is not Coffer’s to change.'
export const settingsNetworkMoved = 'It answers at the new address from now on:'
export const settingsAddress = 'IPv4 address'
export const settingsNetmask = 'Netmask'
export const settingsGateway = 'Gateway (0.0.0.0 for none)'
export const settingsIpv6 = 'IPv6 address and prefix (empty for none)'
export const settingsIpv6Gateway = 'IPv6 gateway'
export const settingsTime = 'Time server'
export const settingsNtpIp = 'Address of an NTP server'
export const settingsNtsName = 'Name of an NTS server'
export const settingsLog = 'Log'
export const settingsLogAddress = 'Address of the log server (0.0.0.0 for none)'
export const settingsLogPort = 'Port'
export const settingsLogLevel = 'Level'
export const settingsBootText =
  'Attended, it asks for the unlock passphrase after each start. Unattended, it opens by itself: with a TPM on this machine only; without one, a thief of the disk has the keys.'
export const settingsAttended = 'Attended'
export const settingsUnattended = 'Unattended'
export const settingsBackupText =
  'Seals backups. To restore one, it is needed together with the unlock passphrase of that time.'
export const settingsCurrent = 'Current passphrase'
export const settingsCurrentHint = 'Empty if none was set before.'
export const settingsSet = (what: string) => `Set the ${what.toLowerCase()}`
export const settingsAudit = 'Audit log'
export const settingsAuditText = 'How many lines of each kind are kept, 1,000 to 10,000,000.'
export const settingsChanges = 'Changes'
export const settingsRefusals = 'Refusals'
export const settingsUses = 'Uses of keys'
export const settingsWhenFull = 'When there is no room for another use'
export const settingsOverwrite = 'Overwrite the oldest'
export const settingsRefuse = 'Refuse until it was exported'
export const settingsPage = 'This page'
export const settingsIdle = 'Sign out after minutes without activity (1 to 10)'
export const settingsHours = 'Sign out after hours at the latest (1 to 8)'

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
export const certificateKeyHint = 'The same stands on the appliance’s screen and in its log.'
export const certificateChain = (more: number) => `and ${more} more of its chain`
export const certificateRequest = 'Request a certificate'
export const certificateRequestText = 'Give the request to your certificate authority, and install what it returns.'
export const certificateInstall = 'Install a certificate'
export const certificateInstallFile = 'Certificate chain in PEM, the appliance’s first'
export const certificateInstalling = 'Installing…'
export const certificateGenerateText =
  'A new key with a certificate signed by itself. Every pin of the old key is void.'
export const certificateGenerateAction = 'Make a new key'
export const certificateTyped = 'new key'
export const certificateAfterwards =
  'New connections get the new certificate. Open this page anew; the browser may ask about it.'
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
export const backupForm = 'Form'
export const backupForms = { nethsm: 'NetHSM’s: other tools read it, too', coffer: 'Coffer’s own: holds everything' }
const omissions: Record<string, string> = {
  chat: 'the team chat',
  'namespace-quotas': 'the quotas of namespaces',
  ntp: 'the time server',
  console: 'that this page is switched off',
  'cluster-tls': 'the key and certificate for members of a cluster',
}
const omissionWords = (names: readonly string[]) => names.map((name) => omissions[name] ?? name).join(', ')
export const backupWillOmit = (names: readonly string[]) =>
  `A backup in this form is incomplete. It omits: ${omissionWords(names)}.`
export const backupDidOmit = (name: string, size: number, names: readonly string[]) =>
  `${name}, ${bytes(size)}: saved, but incomplete. It omits: ${omissionWords(names)}.`
export const backupAction = 'Make a backup'
export const backupRunning = (done: number, rate: number) => `${bytes(done)} so far, ${bytes(rate)} a second`
export const backupDone = (name: string, size: number) => `${name}, ${bytes(size)}: complete.`
export const backupCanceled = 'Canceled. The unfinished file is of no use.'
export const backupNoPassphrase = 'No backup passphrase is set. An administrator sets one in Settings.'

// restore
export const restoreReplaces = 'What will be replaced'
export const restoreReplacesFull = 'Everything: this appliance becomes the one that the backup was made of.'
export const restoreReplacesPart =
  'All users, keys and namespaces, the unlock and the backup passphrase; your own account, too. Network, certificate, log and the way it starts stay.'
export const restoreFile = 'Backup'
export const restoreFileHint = 'The file that was saved by Backup, of a Coffer or of a NetHSM.'
export const restorePassphraseHint = 'The one that was set when the backup was made.'
export const restoreAction = 'Restore'
export const restoreTyped = 'restore'
export const restoreLeftOut = 'Left out by the last restore'
export const restoreLeftOutMore = (more: number) => `And ${count(more)} more.`
export const sending = (done: number, all: number) => `${bytes(done)} of ${bytes(all)} sent`
export const restoreChecking = (seconds: number) => `All sent. Being checked and installed: ${duration(seconds)}`
export const restoreDone =
  'Restored. If it is locked, the unlock passphrase of that time opens it. The view Restore lists what was left out.'
export const unchanged = 'Nothing was changed.'
export const stopped = 'Stopped before all of it was sent. Nothing was changed.'

// update
export const updateLead = (version: string) => `Version ${version} is installed.`
export const updateFile = 'Update image'
export const updateFileHint = 'A file that ends in .update. It is checked before anything of it runs.'
export const updateUpload = 'Upload'
export const updateChecking = (seconds: number) => `All sent. Being checked: ${duration(seconds)}`
export const updateNotes = 'Release notes'
export const updatePending = 'The image is good. It is installed only if you say so.'
export const updateDiscard = 'Discard'
export const updateDiscarding = 'Discarding…'
export const updateDiscarded = 'The image is discarded. Nothing has changed.'
export const updatePendingAlready = 'An update was uploaded before and waits. Discard it to upload another one.'
export const updateWatch = 'The appliance restarts and tries the new version. This page follows.'
export const updateGood = (version: string) => `Version ${version} runs, and has proved good.`
export const updateFellBack = 'The new version did not prove good. The one before runs again.'
export const updateLastFallback = 'The last update was left'

// metrics
export const metricsRequests = 'Requests a second'
export const metricsLatency = 'Response time'
export const metricsOperations = 'Key operations a second'
export const metricsMemory = 'Memory'
export const metricsUptime = 'Running for'
export const metricsByStatus = 'Requests by status'
export const metricsStatus = 'Status'
export const metricsNumber = 'Number'
export const metricsWarnings = 'Warnings in the log'
export const metricsErrors = 'Errors in the log'
export const metricsPrometheus = 'Connect Prometheus'
export const metricsPrometheusText = 'It signs in as this user. Put the passphrase in the file that is named.'
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
export const systemLockText = 'Takes the keys out of memory. The unlock passphrase brings them back.'
export const systemLocking = 'Locking…'
export const systemRebootText = 'Takes some seconds. Attended, it asks for the unlock passphrase afterwards.'
export const systemShutdown = 'Shut down'
export const systemShutdownText = 'The appliance must be switched on by hand again.'
export const systemShuttingDown = 'Shutting down…'
export const systemResetText =
  'Erases all keys, users and settings, and the key that seals the disk. Only a backup brings them back.'
export const systemResetTyped = 'factory reset'
export const systemResetting = 'Erasing…'

// account
export const accountPassphrase = 'Change my passphrase'
export const accountPassphraseText = 'Afterwards you are signed in with the new one.'
export const accountSetting = 'Changing…'
export const accountDone = 'Your passphrase is changed.'
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
  idle: 'You were signed out after a while without a key, click or touch.',
  long: 'You were signed out after the longest time that a session may last.',
  left: 'You were signed out when the page was left.',
}

export const useKinds = {
  text: 'A text',
  file: 'A file',
}

export const wizardWays = {
  fresh: 'New',
  restore: 'From a backup',
}
