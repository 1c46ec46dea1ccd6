/**
 * Describes a line of the audit log: the act, its result and its object. The table shows the user in a column of its own.
 * Contract section 7.6.
 */

import type { AuditLine } from '../client/audit-lines.ts'

/** Verb and object, as they follow "tried to". */
const ACTS: Readonly<Record<string, string>> = {
  'POST /provision': 'set up the appliance',
  'POST /unlock': 'unlock',
  'POST /lock': 'lock',
  'POST /random': 'get random bytes',
  'POST /keys/{id}/sign': 'sign',
  'POST /keys/{id}/decrypt': 'decrypt',
  'POST /keys/{id}/encrypt': 'encrypt',
  'POST /keys/{id}/move': 'rename a key',
  'POST /keys/{id}/csr.pem': 'sign a certificate request',
  'POST /keys/generate': 'generate a key',
  'POST /keys': 'import a key',
  'PUT /keys/{id}': 'import a key',
  'DELETE /keys/{id}': 'delete a key',
  'PUT /keys/{id}/cert': 'store a certificate',
  'DELETE /keys/{id}/cert': 'remove a certificate',
  'PUT /keys/{id}/label': 'label a key',
  'DELETE /keys/{id}/label': 'remove a label',
  'PUT /keys/{id}/restrictions/tags/{tag}': 'add a tag to a key',
  'DELETE /keys/{id}/restrictions/tags/{tag}': 'remove a tag from a key',
  'POST /keys/{id}/versions': 'add a version to a key',
  'PUT /keys/{id}/versions': 'limit the versions of a key',
  'POST /users': 'add a user',
  'POST /users/{namespace}~': 'add a user',
  'PUT /users/{user}': 'add a user',
  'DELETE /users/{user}': 'delete a user',
  'POST /users/{user}/passphrase': 'set a passphrase',
  'PUT /users/{user}/tags/{tag}': 'add a tag to a user',
  'DELETE /users/{user}/tags/{tag}': 'remove a tag from a user',
  'POST /users/{user}/access-keys': 'create an access key',
  'DELETE /users/{user}/access-keys/{accessKey}': 'delete an access key',
  'PUT /namespaces/{namespace}': 'create a namespace',
  'DELETE /namespaces/{namespace}': 'delete a namespace',
  'PUT /namespaces/{namespace}/quota': 'set the quota of a namespace',
  'PUT /config/audit': 'change the settings of the audit log',
  'PUT /config/backup-passphrase': 'set the backup passphrase',
  'PUT /config/unlock-passphrase': 'set the unlock passphrase',
  'PUT /config/unattended-boot': 'change the boot mode',
  'PUT /config/console': 'switch the web console on or off',
  'PUT /config/interfaces': 'switch the transit API',
  'PUT /config/logging': 'change the settings of the log',
  'PUT /config/network': 'change the network',
  'PUT /config/ntp': 'change the time server',
  'PUT /config/outgoing': 'change outgoing connections',
  'PUT /config/mail': 'change where alerts are mailed',
  'POST /config/mail/test': 'test the mail of alerts',
  'PUT /config/acme': 'change how certificates are ordered',
  'POST /config/acme/renew': 'order a certificate',
  acme: 'install an ordered certificate',
  'PUT /config/syslog': 'change the log server',
  'PUT /config/syslog/tls/cert.pem': 'install a certificate for the log server',
  'POST /config/syslog/tls/csr.pem': 'request a certificate for the log server',
  'POST /config/syslog/tls/generate': 'generate a new key for the log server',
  'POST /config/outgoing/test': 'test an outgoing connection',
  'PUT /config/time': 'set the clock',
  'PUT /config/vocabulary': 'change the names in answers',
  'PUT /config/tls/cert.pem': 'install a TLS certificate',
  'POST /config/tls/csr.pem': 'request a TLS certificate',
  'POST /config/tls/generate': 'generate a new TLS key',
  'PUT /config/tls/cluster-ca.pem': 'install the cluster CA',
  'POST /system/backup': 'make a backup',
  'POST /system/restore': 'restore a backup',
  'POST /system/update': 'upload an update',
  'POST /system/commit-update': 'install an update',
  'POST /system/cancel-update': 'discard an update',
  'POST /system/reboot': 'restart the appliance',
  'POST /system/shutdown': 'shut the appliance down',
  'POST /system/factory-reset': 'reset the appliance',
  'PUT /cluster/tls/cert.pem': 'install a certificate of this member',
  'POST /cluster/tls/csr.pem': 'request a certificate of this member',
  'POST /cluster/tls/generate': 'generate a new key of this member',
  'PUT /cluster/tls/ca.pem': 'install the cluster CA',
  'POST /cluster/members': 'add a member to the cluster',
  'PUT /cluster/members/{member}': 'change a member of the cluster',
  'DELETE /cluster/members/{member}': 'remove a member of the cluster',
  'POST /cluster/members/{member}/promote': 'promote a member of the cluster',
  'POST /cluster/join': 'join a cluster',
  'POST /cluster/force-new': 'continue without the cluster',
  cluster: 'follow the cluster',
  'PUT /chat/organization': 'create the organization of the chat',
  'DELETE /chat/organization': 'delete the organization of the chat',
  'PUT /chat/settings': 'change the settings of the chat',
  'POST /chat/recover-owner': 'recover an owner of the chat',
  'PUT /chat/tls/cert.pem': 'install a certificate of the chat',
  'POST /chat/tls/csr.pem': 'request a certificate of the chat',
  'POST /chat/tls/generate': 'generate a new TLS key of the chat',
}

/** Objects of GET requests: the audit log records them only when they are refused. */
const PLACES: Readonly<Record<string, string>> = {
  account: 'an account',
  audit: 'the audit log',
  chat: 'the state of the chat',
  cluster: 'the state of the cluster',
  config: 'the settings',
  health: 'the state',
  keys: 'keys',
  metrics: 'the metrics',
  namespaces: 'namespaces',
  system: 'facts about the appliance',
  users: 'users',
}

function actOf(action: string): string {
  const known = ACTS[action]
  if (known !== undefined) return known
  const [, method, first = ''] = /^(\w+) \/([\w-]+)/.exec(action) ?? []
  return `${method === 'GET' ? 'read' : 'change'} ${PLACES[first] ?? 'something unknown to this page'}`
}

const PAST: Readonly<Record<string, string>> = {
  get: 'got',
  make: 'made',
  read: 'read',
  reset: 'reset',
  set: 'set',
  shut: 'shut',
}

/** `make a key` as `Made a key`. */
function done(act: string): string {
  const text = act.replace(/^\w+/, (verb) => PAST[verb] ?? `${verb.replace(/e$/, '')}ed`)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `Tried to unlock: refused (403)`. */
export function auditDid({ action, result }: Pick<AuditLine, 'action' | 'result'>): string {
  const act = actOf(action)
  return result < 400 ? done(act) : `Tried to ${act}: ${auditResultWord(result).toLowerCase()} (${result})`
}

export const auditResultWord = (status: number): string => {
  if (status < 400) return 'Done'
  return status === 401 ? 'Wrong credentials' : status === 403 ? 'Refused' : 'Failed'
}

/** Names of the key, user, namespace, tag or member that the line concerns. Without any of them, returns all facts of the line. */
export function auditTouched({ key, namespace, facts = {} }: Pick<AuditLine, 'key' | 'namespace' | 'facts'>): string[] {
  const named = ['user', 'namespace', 'member', 'tag', 'newId', 'made'].flatMap((name) => facts[name] ?? [])
  const own = key === '' ? [] : [namespace === '' ? key : `${namespace}/${key}`]
  if (own.length + named.length > 0) return [...new Set([...own, ...named])]
  return Object.entries(facts).map(([name, value]) => `${name} ${value}`)
}
