/** One function for each endpoint of the API: contract section 3. Rejects with `ApiError` for a status of 400 or above. */

import { type Authorization, argumentsPart, BYTES, type Calls, createCalls, ofKey, ofUser } from './calls.ts'
import { multipart } from './multipart.ts'
import { type Options, segment as s, type Transport, type Upload } from './request.ts'
import type * as T from './types.ts'

export type Client = ReturnType<typeof createClient>

export function createClient(transport: Transport, authorization: Authorization) {
  const calls = createCalls(transport, authorization)
  return {
    ...lifecycle(calls),
    ...keys(calls),
    ...namespaces(calls),
    ...users(calls),
    ...configuration(calls),
    ...audit(calls),
    ...system(calls),
    ...cluster(calls),
    ...chat(calls),
  }
}

/** Section 3.1 of the contract. */
const lifecycle = ({ send, get, text, ask, post }: Calls) => ({
  info: (o?: Options) => get<{ vendor: string; product: string }>('/info', o),
  alive: async (o?: Options) => void (await send('GET', '/health/alive', o)),
  ready: async (o?: Options) => void (await send('GET', '/health/ready', o)),
  state: async (o?: Options) => (await get<{ state: T.State }>('/health/state', o)).state,
  diagnose: (o?: Options) => get<Record<string, unknown>>('/health/diagnose', o),
  metrics: (o?: Options) => text('/metrics', { accept: 'application/json', ...o }),
  provision: (body: T.Provision, o?: Options) => post('/provision', body, o),
  unlock: (passphrase: string, o?: Options) => post('/unlock', { passphrase }, o),
  lock: (o?: Options) => post('/lock', undefined, o),
  random: async (length: number, o?: Options) => (await ask<{ random: string }>('/random', { length }, o)).random,
})

/** Section 3.2 of the contract. */
const keys = ({ send, get, text, ask, put, remove, requestPem, imported }: Calls) => ({
  keys: (filter: T.KeyFilter = {}, o?: Options) => get<T.Created[]>('/keys', { ...o, query: { ...filter } }),
  keysWithPrefix: (prefix: string, filter: T.KeyFilter = {}, o?: Options) =>
    get<T.Created[]>(`/keys/${s(prefix)}*`, { ...o, query: { ...filter } }),
  generateKey: (key: T.KeyGenerate, o?: Options) => ask<T.Created>('/keys/generate', key, o),
  importKey: async (key: T.KeyImport | T.KeyAttributes, pem?: string, o?: Options) =>
    (await (await send('POST', '/keys', o, imported(key, pem))).json()) as T.Created,
  importKeyAs: async (id: string, key: T.KeyImport | T.KeyAttributes, pem?: string, o?: Options) =>
    void (await send('PUT', ofKey(id), o, imported(key, pem))),
  key: (id: string, o?: Options) => get<T.Key>(ofKey(id), o),
  deleteKey: (id: string, o?: Options) => remove(ofKey(id), o),
  moveKey: (id: string, newId: string, o?: Options) => ask<T.Created>(`${ofKey(id)}/move`, { newId }, o),
  setKeyLabel: (id: string, label: string, o?: Options) => put(`${ofKey(id)}/label`, { label }, o),
  deleteKeyLabel: (id: string, o?: Options) => remove(`${ofKey(id)}/label`, o),
  addKeyTag: (id: string, tag: string, o?: Options) => put(`${ofKey(id)}/restrictions/tags/${s(tag)}`, undefined, o),
  deleteKeyTag: (id: string, tag: string, o?: Options) => remove(`${ofKey(id)}/restrictions/tags/${s(tag)}`, o),
  keyVersions: (id: string, o?: Options) => get<T.KeyVersions>(`${ofKey(id)}/versions`, o),
  rotateKey: async (id: string, o?: Options) =>
    (await ask<{ version: number }>(`${ofKey(id)}/versions`, undefined, o)).version,
  changeKeyVersions: (id: string, change: Partial<T.KeyVersionLimits>, o?: Options) =>
    put(`${ofKey(id)}/versions`, change, o),
  publicKey: (id: string, o?: Options) => text(`${ofKey(id)}/public.pem`, o),
  keyCertificate: async (id: string, o?: Options) =>
    new Uint8Array(await (await send('GET', `${ofKey(id)}/cert`, o)).arrayBuffer()),
  setKeyCertificate: async (id: string, bytes: Uint8Array, o?: Options) =>
    void (await send('PUT', `${ofKey(id)}/cert`, o, { type: BYTES, body: bytes })),
  deleteKeyCertificate: (id: string, o?: Options) => remove(`${ofKey(id)}/cert`, o),
  keyRequest: (id: string, subject: T.Subject, o?: Options) => requestPem(`${ofKey(id)}/csr.pem`, subject, o),
  sign: async (id: string, body: T.Sign, o?: Options) =>
    (await ask<{ signature: string }>(`${ofKey(id)}/sign`, body, o)).signature,
  decrypt: async (id: string, body: T.Decrypt, o?: Options) =>
    (await ask<{ decrypted: string }>(`${ofKey(id)}/decrypt`, body, o)).decrypted,
  encrypt: (id: string, body: T.Encrypt, o?: Options) =>
    ask<{ encrypted: string; iv: string }>(`${ofKey(id)}/encrypt`, body, o),
})

/** Section 3.3 of the contract. */
const namespaces = ({ get, put, remove }: Calls) => ({
  namespaces: (o?: Options) => get<T.Created[]>('/namespaces', o),
  addNamespace: (id: string, o?: Options) => put(`/namespaces/${s(id)}`, undefined, o),
  deleteNamespace: (id: string, o?: Options) => remove(`/namespaces/${s(id)}`, o),
  namespaceQuota: (id: string, o?: Options) => get<T.NamespaceQuota>(`/namespaces/${s(id)}/quota`, o),
  setNamespaceQuota: (id: string, quota: Partial<T.NamespaceQuota>, o?: Options) =>
    put(`/namespaces/${s(id)}/quota`, quota, o),
})

/** Section 3.3 of the contract. */
const users = ({ get, ask, post, put, remove }: Calls) => ({
  account: (o?: Options) => get<T.Account>('/account', o),
  users: (page: T.UserPageQuery = {}, o?: Options) => get<{ user: string }[]>('/users', { ...o, query: { ...page } }),
  addUser: (user: T.NewUser, o?: Options) => ask<T.Created>('/users', user, o),
  addUserIn: (namespace: string, user: T.NewUser, o?: Options) => ask<T.Created>(`/users/${s(namespace)}%7E`, user, o),
  addUserAs: (id: string, user: T.NewUser, o?: Options) => put(ofUser(id), user, o),
  user: (id: string, o?: Options) => get<T.UserInfo>(ofUser(id), o),
  deleteUser: (id: string, o?: Options) => remove(ofUser(id), o),
  setPassphrase: (id: string, passphrase: string, o?: Options) => post(`${ofUser(id)}/passphrase`, { passphrase }, o),
  userTags: (id: string, o?: Options) => get<string[]>(`${ofUser(id)}/tags`, o),
  addUserTag: (id: string, tag: string, o?: Options) => put(`${ofUser(id)}/tags/${s(tag)}`, undefined, o),
  accessKeys: (id: string, o?: Options) => get<T.AccessKey[]>(`${ofUser(id)}/access-keys`, o),
  addAccessKey: (id: string, name: string, o?: Options) =>
    ask<T.NewAccessKey>(`${ofUser(id)}/access-keys`, { name }, o),
  deleteAccessKey: (id: string, key: string, o?: Options) => remove(`${ofUser(id)}/access-keys/${s(key)}`, o),
  deleteUserTag: (id: string, tag: string, o?: Options) => remove(`${ofUser(id)}/tags/${s(tag)}`, o),
})

/** Section 3.4 of the contract. */
const configuration = ({ get, text, ask, post, put, putPem, requestPem }: Calls) => ({
  setUnlockPassphrase: (change: T.PassphraseChange, o?: Options) => put('/config/unlock-passphrase', change, o),
  setBackupPassphrase: (change: T.PassphraseChange, o?: Options) => put('/config/backup-passphrase', change, o),
  unattendedBoot: (o?: Options) => get<T.Switch>('/config/unattended-boot', o),
  setUnattendedBoot: (value: T.Switch, o?: Options) => put('/config/unattended-boot', value, o),
  time: async (o?: Options) => (await get<{ time: string }>('/config/time', o)).time,
  setTime: (time: string, o?: Options) => put('/config/time', { time }, o),
  network: (o?: Options) => get<T.Network>('/config/network', o),
  setNetwork: (value: T.Network, o?: Options) => put('/config/network', value, o),
  ntp: (o?: Options) => get<T.Ntp>('/config/ntp', o),
  setNtp: (value: T.Ntp, o?: Options) => put('/config/ntp', value, o),
  logging: (o?: Options) => get<T.Logging>('/config/logging', o),
  setLogging: (value: T.Logging, o?: Options) => put('/config/logging', value, o),
  vocabulary: (o?: Options) => get<{ members: string }>('/config/vocabulary', o),
  setVocabulary: (members: string, o?: Options) => put('/config/vocabulary', { members }, o),
  console: (o?: Options) => get<T.Switch>('/config/console', o),
  setConsole: (value: T.Switch, o?: Options) => put('/config/console', value, o),
  outgoing: (o?: Options) => get<T.Outgoing>('/config/outgoing', o),
  changeOutgoing: (change: T.OutgoingChange, o?: Options) => put('/config/outgoing', change, o),
  testOutgoing: (destination: T.OutgoingTest, o?: Options) =>
    ask<T.OutgoingFinding>('/config/outgoing/test', destination, o),
  syslog: (o?: Options) => get<T.Syslog>('/config/syslog', o),
  changeSyslog: (change: T.SyslogChange, o?: Options) => put('/config/syslog', change, o),
  syslogTlsPublicKey: (o?: Options) => text('/config/syslog/tls/public.pem', o),
  syslogTlsCertificate: (o?: Options) => text('/config/syslog/tls/cert.pem', o),
  setSyslogTlsCertificate: (pem: string, o?: Options) => putPem('/config/syslog/tls/cert.pem', pem, o),
  syslogTlsRequest: (subject: T.Subject, o?: Options) => requestPem('/config/syslog/tls/csr.pem', subject, o),
  generateSyslogTlsKey: (key: T.TlsKeyGenerate, o?: Options) => post('/config/syslog/tls/generate', key, o),
  acme: (o?: Options) => get<T.Acme>('/config/acme', o),
  changeAcme: (change: T.AcmeChange, o?: Options) => put('/config/acme', change, o),
  mail: (o?: Options) => get<T.Mail>('/config/mail', o),
  changeMail: (change: T.MailChange, o?: Options) => put('/config/mail', change, o),
  testMail: (o?: Options) => ask<T.MailOutcome>('/config/mail/test', undefined, o),
  renewCertificate: (port: string, o?: Options) => post('/config/acme/renew', { port }, o),
  interfaces: (o?: Options) => get<T.Interfaces>('/config/interfaces', o),
  setInterfaces: (value: T.Interfaces, o?: Options) => put('/config/interfaces', value, o),
  tlsPublicKey: (o?: Options) => text('/config/tls/public.pem', o),
  tlsCertificate: (o?: Options) => text('/config/tls/cert.pem', o),
  setTlsCertificate: (pem: string, o?: Options) => putPem('/config/tls/cert.pem', pem, o),
  tlsRequest: (subject: T.Subject, o?: Options) => requestPem('/config/tls/csr.pem', subject, o),
  generateTlsKey: (key: T.TlsKeyGenerate, o?: Options) => post('/config/tls/generate', key, o),
})

/** Section 3.9 of the contract. */
const audit = ({ send, get, put }: Calls) => ({
  audit: (filter: T.AuditFilter = {}, o?: Options) => get<T.AuditPage>('/audit', { ...o, query: { ...filter } }),
  /** JSON lines, streamed. */
  auditExport: (o?: Options) => send('GET', '/audit/export', o),
  auditSettings: (o?: Options) => get<T.AuditSettings>('/config/audit', o),
  setAuditSettings: (value: T.AuditSettings, o?: Options) => put('/config/audit', value, o),
})

/** Section 3.5 of the contract. */
const system = ({ send, get, post }: Calls) => ({
  /** The container, streamed. */
  backup: (format?: 'nethsm' | 'coffer', o?: Options) => send('POST', '/system/backup', { ...o, query: { format } }),
  backupStatus: (o?: Options) => get<T.BackupStatus>('/system/backup-status', o),
  restore: async (backup: Upload, restore: T.Restore, o?: Options) =>
    void (await send(
      'POST',
      '/system/restore',
      o,
      multipart([argumentsPart(restore), { name: 'backup_file', type: BYTES, file: 'backup', body: backup }]),
    )),
  update: async (image: Upload, o?: Options) =>
    (
      (await (await send('POST', '/system/update', o, { type: BYTES, body: image })).json()) as {
        releaseNotes: string
      }
    ).releaseNotes,
  commitUpdate: (o?: Options) => post('/system/commit-update', undefined, o),
  cancelUpdate: (o?: Options) => post('/system/cancel-update', undefined, o),
  systemInfo: (o?: Options) => get<T.SystemInfo>('/system/info', o),
  restoreReport: (o?: Options) => get<T.RestoreReport>('/system/restore-report', o),
  alerts: (o?: Options) => get<T.Alert[]>('/alerts', o),
  software: (o?: Options) => get<T.Software>('/system/software', o),
  reboot: (o?: Options) => post('/system/reboot', undefined, o),
  shutdown: (o?: Options) => post('/system/shutdown', undefined, o),
  factoryReset: (o?: Options) => post('/system/factory-reset', undefined, o),
})

/** Section 3.6 of the contract. */
const cluster = ({ get, text, ask, post, put, remove, putPem, requestPem }: Calls) => ({
  members: (o?: Options) => get<T.Member[]>('/cluster/members', o),
  addMember: (urls: string[], o?: Options) => ask<T.MemberAdd>('/cluster/members', { urls }, o),
  setMember: (id: string, urls: string[], o?: Options) => put(`/cluster/members/${s(id)}`, { urls }, o),
  deleteMember: (id: string, o?: Options) => remove(`/cluster/members/${s(id)}`, o),
  promoteMember: (id: string, o?: Options) => post(`/cluster/members/${s(id)}/promote`, undefined, o),
  joinCluster: (body: T.MemberAdd & { backupPassphrase: string }, o?: Options) => post('/cluster/join', body, o),
  forceNewCluster: (o?: Options) => post('/cluster/force-new', undefined, o),
  clusterPublicKey: (o?: Options) => text('/cluster/tls/public.pem', o),
  clusterCertificate: (o?: Options) => text('/cluster/tls/cert.pem', o),
  setClusterCertificate: (pem: string, o?: Options) => putPem('/cluster/tls/cert.pem', pem, o),
  clusterRequest: (subject: T.Subject, o?: Options) => requestPem('/cluster/tls/csr.pem', subject, o),
  generateClusterKey: (key: T.TlsKeyGenerate, o?: Options) => post('/cluster/tls/generate', key, o),
  clusterAuthority: (o?: Options) => text('/cluster/tls/ca.pem', o),
  setClusterAuthority: (pem: string, o?: Options) => putPem('/cluster/tls/ca.pem', pem, o),
})

/** Section 3.8 of the contract. */
const chat = ({ get, text, post, put, remove, putPem, requestPem }: Calls) => ({
  chat: (o?: Options) => get<T.Chat>('/chat', o),
  createChat: (organization: T.ChatOrganization, o?: Options) => put('/chat/organization', organization, o),
  deleteChat: (name: string, o?: Options) => remove('/chat/organization', o, { name }),
  chatSettings: (o?: Options) => get<T.ChatSettings>('/chat/settings', o),
  setChatSettings: (value: T.ChatSettingsChange, o?: Options) => put('/chat/settings', value, o),
  recoverChatOwner: (owner: { email: string; password: string }, o?: Options) => post('/chat/recover-owner', owner, o),
  chatTlsPublicKey: (o?: Options) => text('/chat/tls/public.pem', o),
  chatTlsCertificate: (o?: Options) => text('/chat/tls/cert.pem', o),
  setChatTlsCertificate: (pem: string, o?: Options) => putPem('/chat/tls/cert.pem', pem, o),
  chatTlsRequest: (subject: T.Subject, o?: Options) => requestPem('/chat/tls/csr.pem', subject, o),
  generateChatTlsKey: (key: T.TlsKeyGenerate, o?: Options) => post('/chat/tls/generate', key, o),
})
