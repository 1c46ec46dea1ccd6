/** A line of the audit log as a sentence: who is beside it, this says the act, how it ended and on what. Contract section 7.6. */

import type { AuditLine } from '../client/audit-lines.ts'

/** Done, and tried. */
type Act = readonly [done: string, tried: string]

const ACTS: Readonly<Record<string, Act>> = {
  'POST /provision': ['Set up the appliance', 'set up the appliance'],
  'POST /unlock': ['Unlocked', 'unlock'],
  'POST /lock': ['Locked', 'lock'],
  'POST /random': ['Got random bytes', 'get random bytes'],
  'POST /keys/{id}/sign': ['Signed', 'sign'],
  'POST /keys/{id}/decrypt': ['Decrypted', 'decrypt'],
  'POST /keys/{id}/encrypt': ['Encrypted', 'encrypt'],
  'POST /keys/{id}/move': ['Renamed a key', 'rename a key'],
  'POST /keys/{id}/csr.pem': ['Signed a certificate request', 'sign a certificate request'],
  'POST /keys/generate': ['Made a key', 'make a key'],
  'POST /keys': ['Imported a key', 'import a key'],
  'PUT /keys/{id}': ['Imported a key', 'import a key'],
  'DELETE /keys/{id}': ['Deleted a key', 'delete a key'],
  'PUT /keys/{id}/cert': ['Stored a certificate', 'store a certificate'],
  'DELETE /keys/{id}/cert': ['Removed a certificate', 'remove a certificate'],
  'PUT /keys/{id}/label': ['Labeled a key', 'label a key'],
  'DELETE /keys/{id}/label': ['Removed a label', 'remove a label'],
  'PUT /keys/{id}/restrictions/tags/{tag}': ['Added a tag to a key', 'add a tag to a key'],
  'DELETE /keys/{id}/restrictions/tags/{tag}': ['Removed a tag from a key', 'remove a tag from a key'],
  'POST /users': ['Added a user', 'add a user'],
  'POST /users/{namespace}~': ['Added a user', 'add a user'],
  'PUT /users/{user}': ['Added a user', 'add a user'],
  'DELETE /users/{user}': ['Deleted a user', 'delete a user'],
  'POST /users/{user}/passphrase': ['Set a passphrase', 'set a passphrase'],
  'PUT /users/{user}/tags/{tag}': ['Gave a user a tag', 'give a user a tag'],
  'DELETE /users/{user}/tags/{tag}': ['Took a tag from a user', 'take a tag from a user'],
  'PUT /namespaces/{namespace}': ['Made a namespace', 'make a namespace'],
  'DELETE /namespaces/{namespace}': ['Deleted a namespace', 'delete a namespace'],
  'PUT /namespaces/{namespace}/quota': ['Set the quota of a namespace', 'set the quota of a namespace'],
  'PUT /config/audit': ['Changed the settings of the audit log', 'change the settings of the audit log'],
  'PUT /config/backup-passphrase': ['Set the backup passphrase', 'set the backup passphrase'],
  'PUT /config/unlock-passphrase': ['Set the unlock passphrase', 'set the unlock passphrase'],
  'PUT /config/unattended-boot': ['Changed how it starts', 'change how it starts'],
  'PUT /config/console': ['Switched this page on or off', 'switch this page on or off'],
  'PUT /config/logging': ['Changed the settings of the log', 'change the settings of the log'],
  'PUT /config/network': ['Changed the network', 'change the network'],
  'PUT /config/ntp': ['Changed the time server', 'change the time server'],
  'PUT /config/time': ['Set the clock', 'set the clock'],
  'PUT /config/vocabulary': ['Changed the names in answers', 'change the names in answers'],
  'PUT /config/tls/cert.pem': ['Installed a TLS certificate', 'install a TLS certificate'],
  'POST /config/tls/csr.pem': ['Requested a TLS certificate', 'request a TLS certificate'],
  'POST /config/tls/generate': ['Made a new TLS key', 'make a new TLS key'],
  'PUT /config/tls/cluster-ca.pem': ['Installed the cluster’s authority', 'install the cluster’s authority'],
  'POST /system/backup': ['Made a backup', 'make a backup'],
  'POST /system/restore': ['Restored a backup', 'restore a backup'],
  'POST /system/update': ['Uploaded an update', 'upload an update'],
  'POST /system/commit-update': ['Installed an update', 'install an update'],
  'POST /system/cancel-update': ['Discarded an update', 'discard an update'],
  'POST /system/reboot': ['Restarted the appliance', 'restart the appliance'],
  'POST /system/shutdown': ['Shut the appliance down', 'shut the appliance down'],
  'POST /system/factory-reset': ['Reset the appliance', 'reset the appliance'],
  'POST /cluster/members': ['Added a member of the cluster', 'add a member to the cluster'],
  'PUT /cluster/members/{member}': ['Changed a member of the cluster', 'change a member of the cluster'],
  'DELETE /cluster/members/{member}': ['Removed a member of the cluster', 'remove a member of the cluster'],
  'POST /cluster/members/{member}/promote': ['Promoted a member of the cluster', 'promote a member of the cluster'],
  'POST /cluster/join': ['Joined a cluster', 'join a cluster'],
  'POST /cluster/force-new': ['Made the cluster anew of this node', 'make the cluster anew of this node'],
  cluster: ['Followed the cluster', 'follow the cluster'],
  'PUT /chat/organization': ['Made the organization of the chat', 'make the organization of the chat'],
  'DELETE /chat/organization': ['Deleted the organization of the chat', 'delete the organization of the chat'],
  'PUT /chat/settings': ['Changed the settings of the chat', 'change the settings of the chat'],
  'POST /chat/recover-owner': ['Recovered an owner of the chat', 'recover an owner of the chat'],
  'PUT /chat/tls/cert.pem': ['Installed a certificate of the chat', 'install a certificate of the chat'],
  'POST /chat/tls/csr.pem': ['Requested a certificate of the chat', 'request a certificate of the chat'],
  'POST /chat/tls/generate': ['Made a new TLS key of the chat', 'make a new TLS key of the chat'],
}

/** Only refusals of reading are recorded. */
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
  system: 'facts of the appliance',
  users: 'users',
}

function actOf(action: string): Act {
  const known = ACTS[action]
  if (known !== undefined) return known
  const [, method, first = ''] = /^(\w+) \/([\w-]+)/.exec(action) ?? []
  const place = PLACES[first] ?? 'something that this page does not know'
  return method === 'GET' ? [`Read ${place}`, `read ${place}`] : [`Changed ${place}`, `change ${place}`]
}

/** `Tried to unlock: refused (403)`. */
export function auditDid({ action, result }: Pick<AuditLine, 'action' | 'result'>): string {
  const [done, tried] = actOf(action)
  return result < 400 ? done : `Tried to ${tried}: ${auditResultWord(result).toLowerCase()} (${result})`
}

export const auditResultWord = (status: number): string => {
  if (status < 400) return 'Done'
  return status === 401 ? 'Wrong credentials' : status === 403 ? 'Refused' : 'Failed'
}

/** Names of the key, user, namespace, tag or member; what a request without any is about, its words say. */
export function auditTouched({ key, namespace, facts = {} }: Pick<AuditLine, 'key' | 'namespace' | 'facts'>): string[] {
  const named = ['user', 'namespace', 'member', 'tag', 'newId', 'made'].flatMap((name) => facts[name] ?? [])
  const own = key === '' ? [] : [namespace === '' ? key : `${namespace}/${key}`]
  if (own.length + named.length > 0) return [...new Set([...own, ...named])]
  return Object.entries(facts).map(([name, value]) => `${name} ${value}`)
}
