/** Bodies of requests and answers of the API: contract section 4. */

import type { AuditHead, AuditLine } from './audit-lines.ts'

export type State = 'Unprovisioned' | 'Locked' | 'Operational' | 'Failed'
export type Role = 'Administrator' | 'Operator' | 'Metrics' | 'Backup'
export interface Switch {
  status: 'on' | 'off'
}
export interface Interfaces {
  transit: 'on' | 'off'
  tokenHours: number
}
export interface AccessKey {
  id: string
  name: string
  created: string
}
export interface NewAccessKey {
  id: string
  secret: string
  token: string
}
export interface KeyVersionLimits {
  minDecryption: number
  minEncryption: number
  minAvailable: number
  deletable: boolean
}
export interface KeyVersions extends KeyVersionLimits {
  latest: number
  versions: { version: number; created: string; public?: Record<string, string> }[]
}
export interface NamespaceQuota {
  keys: number
  users: number
}
export interface Created {
  id: string
}
export interface Provision {
  unlockPassphrase: string
  adminPassphrase: string
  /** RFC 3339 in UTC, as all times in this file. */
  systemTime: string
}
export interface PassphraseChange {
  newPassphrase: string
  /** Empty while no backup passphrase is set. */
  currentPassphrase: string
}
export interface NewUser {
  realName: string
  role: Role
  passphrase: string
}
export interface UserInfo {
  realName: string
  role: Role
}
export interface UserPageQuery {
  /** Makes the answer a `UserPage`. `limit` and `after` need it. */
  details?: true
  limit?: number
  after?: string
}
export interface UserPage {
  /** `tags` only for Operators. */
  users: (UserInfo & { user: string; tags?: string[] })[]
  /** The `after` of the next page; absent on the last. */
  next?: string
}
export interface Account extends UserInfo {
  user: string
  namespace?: string
  tags?: string[]
}
export interface Restrictions {
  tags?: string[]
}
export interface KeyAttributes {
  mechanisms: string[]
  restrictions?: Restrictions
  label?: string
}
export interface KeyGenerate extends KeyAttributes {
  type: string
  length?: number
  id?: string
}
export interface KeyImport extends KeyAttributes {
  type: string
  /** Base64: `primeP`, `primeQ` and `publicExponent` for RSA, `data` for other types. */
  private: Record<string, string>
}
export interface Key {
  type: string
  mechanisms: string[]
  restrictions: Restrictions
  /** Base64; absent for Generic keys. */
  public?: { modulus?: string; publicExponent?: string; data?: string }
  operations: number
  label?: string
}
export interface KeyFilter {
  /** True returns only keys that the caller may use. */
  filter?: boolean
  label?: string
  /** Includes types that clients for NetHSM do not support. */
  types?: 'all'
}
export interface KeyPage {
  keys: (Key & { id: string })[]
  /** The `after` of the next page; absent on the last. */
  next?: string
}
/** Messages are base64. */
export interface Sign {
  mode: string
  message: string
}
export interface Decrypt {
  mode: string
  encrypted: string
  iv?: string
}
export interface Encrypt {
  mode: 'AES_CBC'
  message: string
  iv?: string
}
export interface Subject {
  commonName: string
  countryName?: string
  stateOrProvinceName?: string
  localityName?: string
  organizationName?: string
  organizationalUnitName?: string
  emailAddress?: string
  subjectAltNames?: string[]
}
export interface TlsKeyGenerate {
  type: string
  length?: number
}
export interface Network {
  ipAddress: string
  netmask: string
  gateway?: string
  ipv6?: { cidr: string; gateway: string | null } | null
}
export interface Ntp {
  ntpIP?: string
  ntsName?: string
}
export interface Logging {
  ipAddress: string
  port: number
  logLevel: string
}
export interface Outgoing {
  resolvers: string[]
  proxy: { host: string; port: number; user?: string; password?: true } | null
  proxyExcept: string[]
  authorities: string
  publicAuthorities: boolean
}
export interface OutgoingChange extends Partial<Omit<Outgoing, 'proxy'>> {
  proxy?: { host: string; port: number; user?: string; password?: string | null } | null
}
export interface OutgoingTest {
  host: string
  port: number
  tls: boolean
}
export interface OutgoingFinding {
  addresses: string[]
  tls?: { version: string; names: string[]; notAfter: string }
  problem?: string
}
export interface Acme {
  directory: string | null
  contact: string[]
  termsAgreed: boolean
  eab: { kid: string; key: true } | null
  challenge: string
  profile: string | null
  appliance: string[]
  chat: string[]
  account: string | null
  ports: { appliance: AcmePort; chat: AcmePort }
}
export interface AcmePort {
  state: string
  notAfter?: string
  renewAt?: string
  failures: number
  problem?: string
}
export interface AcmeChange extends Partial<Omit<Acme, 'eab' | 'account' | 'ports'>> {
  eab?: { kid: string; key?: string } | null
}
export interface SyslogChange {
  server?: string | null
  port?: number
  send?: string
  fingerprints?: string[]
}
export interface Syslog extends Required<SyslogChange> {
  state: string
  confirmed: number
  waiting: number
}
export interface Mail {
  server: string | null
  port: number
  security: string
  user: string | null
  password?: true
  from: string | null
  to: string[]
  /** Null for all. */
  alerts: string[] | null
}
export interface MailChange extends Partial<Omit<Mail, 'password'>> {
  password?: string | null
}
export interface MailOutcome {
  problem?: string
}
export interface AuditSettings {
  changes?: number
  refusals?: number
  uses?: number
  lines?: number
  whenFull?: string
}
export interface AuditFilter {
  before?: number
  limit?: number
  user?: string
  action?: string
  key?: string
  from?: string
  to?: string
}
export interface AuditPage {
  lines: AuditLine[]
  next?: number
  head: AuditHead
}
export interface SystemInfo {
  softwareVersion: string
  softwareBuild: string
  firmwareVersion: string
  hardwareVersion: string
  deviceId: string
  akPub: Record<string, string>
  pcr: Record<string, string>
}
export interface Software {
  /** Absent, as `build` is, in older versions, which have `softwareVersion` and `softwareBuild`. */
  version?: string
  build?: string
  rsaEngine: string
  updateFallback?: unknown
}
export interface Alert {
  id: string
  level: 'warning' | 'critical'
  since: string
  text: string
}
export interface BackupStatus {
  /** Absent if no backup was ever completed. */
  lastComplete?: string
  defaultFormat: 'nethsm' | 'coffer'
  /** Current contents that a NetHSM backup omits: `chat`, `ntp` and others of contract section 8.2. */
  nethsmOmits: string[]
}
export interface RestoreReport {
  leftOut: { entry: string; part: string; reason: string }[]
  more: number
}
export interface Restore {
  backupPassphrase?: string
  systemTime?: string
}
export interface Member {
  id: string
  name: string
  urls: string[]
  learner: boolean
}
export interface MemberAdd {
  members: Member[]
  joinerKit: string
}
export interface Chat {
  state: 'none' | 'starting' | 'running' | 'failed'
  problem?: string
  port?: number
  /** Absent, as all members below, unless the chat runs. Empty if each client uses the origin of its own request. */
  url?: string
  users?: number
  messages?: number
  bytes?: number
  queues?: number
  exportKey?: string
  olderCopies?: string[]
}
export interface ChatSettings {
  url: string
  ownerFullContentAccess: boolean
  /** Null for a quarter of the disk. */
  uploadQuotaMib: number | null
  outgoingHosts: string[]
  /** Null while Web Push is off. */
  webPush: { hosts: string[]; contact: string; content: boolean } | null
  externalPreviews: boolean
  jwt: { algorithm: JwtAlgorithm } | null
  /** On a device alone. */
  port?: number
}
export type JwtAlgorithm = 'HS256' | 'RS256' | 'ES256'
/** `key` is a secret for HS256, otherwise a public key in PEM. */
export type ChatSettingsChange = Partial<Omit<ChatSettings, 'jwt'>> & {
  jwt?: { algorithm: JwtAlgorithm; key: string } | null
}
export interface ChatOrganization {
  name: string
  url?: string
  owner: { email: string; fullName: string; password: string }
}
