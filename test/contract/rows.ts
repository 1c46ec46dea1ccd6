/**
 * Who may call what in which state: transcribed by hand from sections 3.1 to 3.6 and 7.3 of the contract, and from
 * what is written of the audit log. Nothing here is derived from the server's own declarations.
 */

import { ADMIN, UNLOCK } from './check.ts'

export const BACKUP = 'words that open a backup'

export type StateLetter = 'U' | 'L' | 'Op' | 'F'

/** A caller: a letter for the role, `n` inside an existing namespace, `x` inside one that was never created. */
export type Caller = 'none' | 'wrong' | 'A' | 'O' | 'M' | 'B' | 'nA' | 'nO' | 'nM' | 'nB' | 'xA' | 'xO' | 'xM' | 'xB'

export const CALLERS: readonly Caller[] = [
  ...(['none', 'wrong', 'A', 'O', 'M', 'B'] as const),
  ...(['nA', 'nO', 'nM', 'nB', 'xA', 'xO', 'xM', 'xB'] as const),
]

/**
 * Objects in paths, made fresh for every call that must succeed:
 * - `{key}`: a key in the caller's namespace (`{tagged}` with tag `t1`, `{certified}` with a certificate), `{newKey}`: a free id;
 * - `{operator}`: a root Operator, `{nsOperator}`: one in the namespace of the `n` callers, `{otherOperator}`: one in
 *   another existing namespace, `{voidOperator}`: one in a namespace that does not exist; `...Tagged`: with tag `t1`;
 * - `{self}`: the caller; `{newUser}`: a free local id; `{newNs}`, `{ns}`: a free and an existing namespace;
 * - `{chain}`: the certificate in use; `{memberChain}`: that which members are shown; `{member}`: the one member of the cluster.
 */
export interface Row {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  states: readonly StateLetter[]
  /** `Pub`, or the callers that succeed while Operational; any other is refused: 401 without valid credentials, else 403. */
  who: 'Pub' | readonly Caller[]
  /** States in which no credentials are needed although `who` names callers. */
  publicIn?: readonly StateLetter[]
  success: 200 | 201 | 204
  /** Callers that pass authentication and role and are then answered otherwise. */
  instead?: Partial<Record<Caller, number>>
  /** Answer to permitted callers if the object of the call is missing or incomplete; `success` is then not reached. */
  lacking?: number
  json?: unknown
  body?: { type: string; text: string }
  leaves?: boolean
  /** The call ends or erases the appliance: made on one that is made for it. */
  ends?: boolean
}

const Op = ['Op'] as const
const everyState = ['U', 'L', 'Op', 'F'] as const

const scalar = Buffer.alloc(32, 7).toString('base64')
const keyImport = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: { data: scalar } }
const keyGenerate = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
const user = { realName: 'somebody', role: 'Operator', passphrase: 'passphrase of somebody' }
const certificate = { type: 'application/octet-stream', text: 'any bytes' }

/** PKCS#8 of an Ed25519 key, a test key of all sevens. */
const pem = [
  '-----BEGIN PRIVATE KEY-----',
  Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 7)]).toString('base64'),
  '-----END PRIVATE KEY-----\n',
].join('\n')
const multipart = {
  type: 'multipart/form-data; boundary=matrix',
  text: [
    '--matrix\r\ncontent-disposition: form-data; name="arguments"\r\n\r\n{"mechanisms":["EdDSA_Signature"]}',
    `\r\n--matrix\r\ncontent-disposition: form-data; name="key_file"; filename="key.pem"\r\n\r\n${pem}\r\n--matrix--\r\n`,
  ].join(''),
}

/** 3.1 Public and lifecycle. */
const lifecycle: Row[] = [
  { method: 'GET', path: '/info', states: everyState, who: 'Pub', success: 200 },
  { method: 'GET', path: '/health/alive', states: ['U', 'L'], who: 'Pub', success: 200 },
  { method: 'GET', path: '/health/ready', states: Op, who: 'Pub', success: 200 },
  { method: 'GET', path: '/health/state', states: everyState, who: 'Pub', success: 200 },
  {
    method: 'GET',
    path: '/health/diagnose',
    states: everyState,
    who: ['A'],
    publicIn: ['U', 'L', 'F'],
    success: 200,
  },
  { method: 'GET', path: '/metrics', states: Op, who: ['M', 'nM'], success: 200 },
  {
    method: 'POST',
    path: '/provision',
    states: ['U'],
    who: 'Pub',
    success: 204,
    json: {
      unlockPassphrase: UNLOCK,
      adminPassphrase: ADMIN.slice('admin:'.length),
      systemTime: '2026-11-21T12:00:00Z',
    },
    leaves: true,
  },
  {
    method: 'POST',
    path: '/unlock',
    states: ['L'],
    who: 'Pub',
    success: 204,
    json: { passphrase: UNLOCK },
    leaves: true,
  },
  { method: 'POST', path: '/lock', states: Op, who: ['A'], success: 204, leaves: true },
  { method: 'POST', path: '/random', states: Op, who: ['O', 'nO'], success: 200, json: { length: 16 } },
]

/** 3.2 Keys: always in the caller's namespace. */
const readers = ['A', 'O', 'nA', 'nO'] as const
const managers = ['A', 'nA'] as const
const users = ['O', 'nO'] as const
const keys: Row[] = [
  { method: 'GET', path: '/keys', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/keys?filter', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/keys?label=none', states: Op, who: readers, success: 200 },
  { method: 'POST', path: '/keys', states: Op, who: managers, success: 201, json: keyImport },
  { method: 'POST', path: '/keys', states: Op, who: managers, success: 201, body: multipart },
  { method: 'POST', path: '/keys/generate', states: Op, who: managers, success: 201, json: keyGenerate },
  { method: 'GET', path: '/keys/some*', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/keys/{key}', states: Op, who: readers, success: 200 },
  { method: 'PUT', path: '/keys/{newKey}', states: Op, who: managers, success: 204, json: keyImport },
  { method: 'PUT', path: '/keys/{newKey}', states: Op, who: managers, success: 204, body: multipart },
  { method: 'DELETE', path: '/keys/{key}', states: Op, who: managers, success: 204 },
  { method: 'PUT', path: '/keys/{key}/label', states: Op, who: managers, success: 204, json: { label: 'new' } },
  { method: 'DELETE', path: '/keys/{key}/label', states: Op, who: managers, success: 204 },
  { method: 'GET', path: '/keys/{key}/public.pem', states: Op, who: readers, success: 200 },
  {
    method: 'POST',
    path: '/keys/{key}/csr.pem',
    states: Op,
    who: readers,
    success: 200,
    json: { commonName: 'example.org' },
  },
  {
    method: 'POST',
    path: '/keys/{aes}/decrypt',
    states: Op,
    who: users,
    success: 200,
    json: { mode: 'AES_CBC', encrypted: Buffer.alloc(16).toString('base64'), iv: Buffer.alloc(16).toString('base64') },
  },
  {
    method: 'POST',
    path: '/keys/{aes}/encrypt',
    states: Op,
    who: users,
    success: 200,
    json: { mode: 'AES_CBC', message: Buffer.alloc(16).toString('base64') },
  },
  {
    method: 'POST',
    path: '/keys/{key}/sign',
    states: Op,
    who: users,
    success: 200,
    json: { mode: 'EdDSA', message: 'bWVzc2FnZQ==' },
  },
  { method: 'GET', path: '/keys/{certified}/cert', states: Op, who: readers, success: 200 },
  { method: 'PUT', path: '/keys/{key}/cert', states: Op, who: managers, success: 201, body: certificate },
  { method: 'DELETE', path: '/keys/{certified}/cert', states: Op, who: managers, success: 204 },
  { method: 'POST', path: '/keys/{key}/move', states: Op, who: managers, success: 200, json: { newId: '{newKey}' } },
  { method: 'PUT', path: '/keys/{key}/restrictions/tags/t1', states: Op, who: managers, success: 204 },
  { method: 'DELETE', path: '/keys/{tagged}/restrictions/tags/t1', states: Op, who: managers, success: 204 },
  { method: 'GET', path: '/keys/{key}/versions', states: Op, who: readers, success: 200 },
  { method: 'POST', path: '/keys/{key}/versions', states: Op, who: managers, success: 201 },
  {
    method: 'PUT',
    path: '/keys/{key}/versions',
    states: Op,
    who: managers,
    success: 204,
    json: { minDecryption: 1, deletable: true },
  },
]

const NO_KEY = 'COFRAAAAAAAAAAAAAAAA'

/** 3.3 Namespaces and users, with the rules of 7.3 on whose users they are. */
const namespaces: Row[] = [
  { method: 'GET', path: '/namespaces', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/namespaces/{newNs}', states: Op, who: ['A'], success: 204 },
  { method: 'DELETE', path: '/namespaces/{ns}', states: Op, who: ['A'], success: 204 },
  { method: 'GET', path: '/namespaces/{ns}/quota', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/namespaces/{ns}/quota', states: Op, who: ['A'], success: 204, json: { keys: 20_000 } },
  { method: 'GET', path: '/users', states: Op, who: managers, success: 200 },
  { method: 'POST', path: '/users', states: Op, who: managers, success: 201, json: user },
  { method: 'GET', path: '/account', states: Op, who: ['A', 'O', 'M', 'B', 'nA', 'nO', 'nM', 'nB'], success: 200 },

  { method: 'GET', path: '/users/{self}', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/users/{operator}', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/users/{nsOperator}', states: Op, who: ['A', 'nA'], success: 200 },
  { method: 'GET', path: '/users/{otherOperator}', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/users/{voidOperator}', states: Op, who: ['A'], success: 200 },

  { method: 'PUT', path: '/users/{newUser}', states: Op, who: ['A'], success: 201, json: user },
  { method: 'PUT', path: '/users/inside~{newUser}', states: Op, who: ['nA'], success: 201, json: user },
  { method: 'PUT', path: '/users/other~{newUser}', states: Op, who: [], success: 201, json: user },
  { method: 'PUT', path: '/users/void~{newUser}', states: Op, who: ['A'], success: 201, json: user },

  { method: 'POST', path: '/users/inside~', states: Op, who: ['nA'], success: 201, json: user },
  { method: 'POST', path: '/users/other~', states: Op, who: [], success: 201, json: user },
  { method: 'POST', path: '/users/void~', states: Op, who: ['A'], success: 201, json: user },

  {
    method: 'DELETE',
    path: '/users/{self}',
    states: Op,
    who: managers,
    success: 204,
    instead: { A: 400, nA: 400 }, // one's own account cannot be deleted
  },
  { method: 'DELETE', path: '/users/{operator}', states: Op, who: ['A'], success: 204 },
  { method: 'DELETE', path: '/users/{nsOperator}', states: Op, who: ['nA'], success: 204 },
  { method: 'DELETE', path: '/users/{otherOperator}', states: Op, who: [], success: 204 },
  { method: 'DELETE', path: '/users/{voidOperator}', states: Op, who: ['A'], success: 204 },

  ...(
    [
      ['{self}', readers],
      ['{operator}', ['A']],
      ['{nsOperator}', ['nA']],
      ['{otherOperator}', []],
      ['{voidOperator}', ['A']],
    ] as const
  ).map(
    ([target, who]): Row => ({
      method: 'POST',
      path: `/users/${target}/passphrase`,
      states: Op,
      who,
      success: 204,
      json: { passphrase: '{passphrase}' },
    }),
  ),

  {
    method: 'GET',
    path: '/users/{self}/tags',
    states: Op,
    who: readers,
    success: 200,
    instead: { A: 404, nA: 404 }, // not Operators
  },
  { method: 'GET', path: '/users/{operator}/tags', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/users/{nsOperator}/tags', states: Op, who: ['A', 'nA'], success: 200 },
  { method: 'GET', path: '/users/{otherOperator}/tags', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/users/{voidOperator}/tags', states: Op, who: ['A'], success: 200 },

  {
    method: 'PUT',
    path: '/users/{self}/tags/t2',
    states: Op,
    who: managers,
    success: 204,
    instead: { A: 400, nA: 400 }, // not Operators
  },
  { method: 'PUT', path: '/users/{operator}/tags/t1', states: Op, who: ['A'], success: 204 },
  { method: 'PUT', path: '/users/{nsOperator}/tags/t1', states: Op, who: ['nA'], success: 204 },
  { method: 'PUT', path: '/users/{otherOperator}/tags/t1', states: Op, who: [], success: 204 },
  { method: 'PUT', path: '/users/{voidOperator}/tags/t1', states: Op, who: ['A'], success: 204 },

  { method: 'GET', path: '/users/{self}/access-keys', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/users/{operator}/access-keys', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/users/{nsOperator}/access-keys', states: Op, who: ['A', 'nA'], success: 200 },
  { method: 'POST', path: '/users/{self}/access-keys', states: Op, who: readers, success: 201, json: { name: 'ci' } },
  { method: 'POST', path: '/users/{operator}/access-keys', states: Op, who: [], success: 201, json: { name: 'ci' } },
  { method: 'POST', path: '/users/{nsOperator}/access-keys', states: Op, who: [], success: 201, json: { name: 'ci' } },
  // No such key.
  {
    method: 'DELETE',
    path: `/users/{self}/access-keys/${NO_KEY}`,
    states: Op,
    who: readers,
    success: 204,
    instead: { A: 404, O: 404, nA: 404, nO: 404 },
  },
  {
    method: 'DELETE',
    path: `/users/{operator}/access-keys/${NO_KEY}`,
    states: Op,
    who: ['A'],
    success: 204,
    instead: { A: 404 },
  },
  {
    method: 'DELETE',
    path: `/users/{nsOperator}/access-keys/${NO_KEY}`,
    states: Op,
    who: ['nA'],
    success: 204,
    instead: { nA: 404 },
  },

  { method: 'DELETE', path: '/users/{operatorTagged}/tags/t1', states: Op, who: ['A'], success: 204 },
  { method: 'DELETE', path: '/users/{nsOperatorTagged}/tags/t1', states: Op, who: ['nA'], success: 204 },
  { method: 'DELETE', path: '/users/{otherOperatorTagged}/tags/t1', states: Op, who: [], success: 204 },
  { method: 'DELETE', path: '/users/{voidOperatorTagged}/tags/t1', states: Op, who: ['A'], success: 204 },
]

const pemFile = (text: string) => ({ type: 'application/x-pem-file', text })
const bytes = { type: 'application/octet-stream', text: 'neither a backup nor an update' }

/** 3.4 Configuration. */
const configuration: Row[] = [
  {
    method: 'PUT',
    path: '/config/unlock-passphrase',
    states: Op,
    who: ['A'],
    success: 204,
    json: { newPassphrase: UNLOCK, currentPassphrase: UNLOCK },
  },
  { method: 'GET', path: '/config/unattended-boot', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/unattended-boot', states: Op, who: ['A'], success: 204, json: { status: 'off' } },
  { method: 'GET', path: '/config/time', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/config/time',
    states: Op,
    who: ['A'],
    success: 204,
    json: { time: '2026-11-21T12:00:00Z' },
  },
  { method: 'GET', path: '/config/tls/public.pem', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/config/tls/cert.pem', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/tls/cert.pem', states: Op, who: ['A'], success: 201, body: pemFile('{chain}') },
  {
    method: 'POST',
    path: '/config/tls/csr.pem',
    states: Op,
    who: ['A'],
    success: 200,
    json: { commonName: 'coffer.example' },
  },
  {
    method: 'POST',
    path: '/config/tls/generate',
    states: Op,
    who: ['A'],
    success: 204,
    json: { type: 'EC_P256' },
  },
  { method: 'GET', path: '/config/tls/cluster-ca.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  {
    method: 'PUT',
    path: '/config/tls/cluster-ca.pem',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 400,
    body: pemFile('no authority'),
  },
  { method: 'GET', path: '/cluster/tls/public.pem', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/cluster/tls/cert.pem', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/cluster/tls/cert.pem',
    states: Op,
    who: ['A'],
    success: 201,
    body: pemFile('{memberChain}'),
  },
  {
    method: 'POST',
    path: '/cluster/tls/csr.pem',
    states: Op,
    who: ['A'],
    success: 200,
    json: { commonName: 'coffer.example' },
  },
  {
    method: 'POST',
    path: '/cluster/tls/generate',
    states: Op,
    who: ['A'],
    success: 204,
    json: { type: 'EC_P256' },
  },
  { method: 'GET', path: '/cluster/tls/ca.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  {
    method: 'PUT',
    path: '/cluster/tls/ca.pem',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 400,
    body: pemFile('no authority'),
  },
  { method: 'GET', path: '/config/network', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/config/network',
    states: Op,
    who: ['A'],
    success: 204,
    json: { ipAddress: '192.0.2.1', netmask: '255.255.255.0', gateway: '0.0.0.0' },
  },
  { method: 'GET', path: '/config/logging', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/config/logging',
    states: Op,
    who: ['A'],
    success: 204,
    json: { ipAddress: '0.0.0.0', port: 514, logLevel: 'info' },
  },
  { method: 'GET', path: '/config/ntp', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/ntp', states: Op, who: ['A'], success: 204, json: { ntpIP: '192.0.2.1' } },
  { method: 'GET', path: '/config/vocabulary', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/vocabulary', states: Op, who: ['A'], success: 204, json: { members: 'both' } },
  { method: 'GET', path: '/config/console', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/console', states: Op, who: ['A'], success: 204, json: { status: 'on' } },
  { method: 'GET', path: '/config/outgoing', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/outgoing', states: Op, who: ['A'], success: 204, json: { publicAuthorities: true } },
  {
    method: 'POST',
    path: '/config/outgoing/test',
    states: Op,
    who: ['A'],
    success: 200,
    json: { host: '127.0.0.1', port: 9, tls: false },
  },
  { method: 'GET', path: '/config/acme', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/acme', states: Op, who: ['A'], success: 204, json: { termsAgreed: true } },
  {
    method: 'POST',
    path: '/config/acme/renew',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 412,
    json: { port: 'appliance' },
  },
  { method: 'GET', path: '/config/syslog', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/syslog', states: Op, who: ['A'], success: 204, json: { send: 'audit' } },
  { method: 'GET', path: '/config/syslog/tls/public.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  { method: 'GET', path: '/config/syslog/tls/cert.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  {
    method: 'PUT',
    path: '/config/syslog/tls/cert.pem',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 404,
    body: { type: 'application/x-pem-file', text: '' },
  },
  {
    method: 'POST',
    path: '/config/syslog/tls/csr.pem',
    states: Op,
    who: ['A'],
    success: 200,
    lacking: 404,
    json: { commonName: 'coffer.example.org' },
  },
  {
    method: 'POST',
    path: '/config/syslog/tls/generate',
    states: Op,
    who: ['A'],
    success: 204,
    json: { type: 'EC_P256' },
  },
  { method: 'GET', path: '/config/mail', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/mail', states: Op, who: ['A'], success: 204, json: { alerts: ['disk'] } },
  { method: 'POST', path: '/config/mail/test', states: Op, who: ['A'], success: 200, lacking: 412 },
  { method: 'GET', path: '/config/interfaces', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/config/interfaces',
    states: Op,
    who: ['A'],
    success: 204,
    json: { transit: 'off', tokenHours: 24 },
  },
  {
    method: 'PUT',
    path: '/config/backup-passphrase',
    states: Op,
    who: ['A'],
    success: 204,
    json: { passphrase: BACKUP },
  },
]

/** 3.5 System. A backup that can be restored, and an update that can be committed, have tests of their own. */
const system: Row[] = [
  { method: 'GET', path: '/system/info', states: Op, who: ['A'], success: 200 },
  {
    method: 'POST',
    path: '/system/reboot',
    states: ['Op', 'F'],
    who: ['A'],
    publicIn: ['F'],
    success: 204,
    ends: true,
  },
  {
    method: 'POST',
    path: '/system/shutdown',
    states: everyState,
    who: ['A'],
    publicIn: ['U', 'L', 'F'],
    success: 204,
    ends: true,
  },
  {
    method: 'POST',
    path: '/system/factory-reset',
    states: ['Op', 'F'],
    who: ['A'],
    publicIn: ['F'],
    success: 204,
    ends: true,
  },
  { method: 'POST', path: '/system/update', states: Op, who: ['A'], success: 200, lacking: 400, body: bytes },
  { method: 'POST', path: '/system/commit-update', states: Op, who: ['A'], success: 204, lacking: 412 },
  { method: 'POST', path: '/system/cancel-update', states: Op, who: ['A'], success: 204, lacking: 412 },
  { method: 'POST', path: '/system/backup', states: Op, who: ['B'], success: 200 },
  {
    method: 'POST',
    path: `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`,
    states: ['U', 'Op'],
    who: ['A'],
    publicIn: ['U'],
    success: 204,
    lacking: 400,
    body: bytes,
  },
]

const memberUrls = { urls: ['https://192.0.2.7:2380'] }

/** 3.6 Cluster: of a single node, which refuses every change by 400. */
const cluster: Row[] = [
  { method: 'GET', path: '/cluster/members', states: Op, who: ['A'], success: 200 },
  {
    method: 'POST',
    path: '/cluster/members',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 400, // 412 until there is a backup passphrase; a row above has set it
    json: memberUrls,
  },
  {
    method: 'PUT',
    path: '/cluster/members/{member}',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 400,
    json: memberUrls,
  },
  { method: 'PUT', path: '/cluster/members/f', states: Op, who: ['A'], success: 204, lacking: 404, json: memberUrls },
  { method: 'DELETE', path: '/cluster/members/{member}', states: Op, who: ['A'], success: 204, lacking: 400 },
  { method: 'DELETE', path: '/cluster/members/f', states: Op, who: ['A'], success: 204, lacking: 404 },
  { method: 'POST', path: '/cluster/members/{member}/promote', states: Op, who: ['A'], success: 204, lacking: 400 },
  { method: 'POST', path: '/cluster/members/f/promote', states: Op, who: ['A'], success: 204, lacking: 404 },
  {
    method: 'POST',
    path: '/cluster/join',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 412, // no cluster CA
    json: {
      members: [
        { name: 'first', urls: ['https://192.0.2.1:2380'] },
        { name: '', urls: ['https://192.0.2.2:2380'] },
      ],
      joinerKit: 'AAAA',
      backupPassphrase: BACKUP,
    },
  },
  // The user `unlock` is none of them.
  { method: 'POST', path: '/cluster/force-new', states: ['L', 'Op', 'F'], who: 'Pub', success: 204, lacking: 401 },
]

/** Added to the contract's: 7.6, 5 (row 23), and the lists of keys and of users with details. */
const added: Row[] = [
  { method: 'GET', path: '/audit', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/audit?limit=1&action=sign', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/keys?details=true&limit=2', states: Op, who: readers, success: 200 },
  { method: 'GET', path: '/users?details=true&limit=2', states: Op, who: managers, success: 200 },
  { method: 'GET', path: '/system/software', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/system/backup-status', states: Op, who: ['A', 'B'], success: 200 },
  { method: 'GET', path: '/system/restore-report', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/alerts', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/audit/export', states: Op, who: ['A'], success: 200 },
  { method: 'GET', path: '/config/audit', states: Op, who: ['A'], success: 200 },
  { method: 'PUT', path: '/config/audit', states: Op, who: ['A'], success: 204, json: { lines: 50_000 } },
]

/** Section 3.8, where there is no organization: one is made in test/chat. */
const chat: Row[] = [
  { method: 'GET', path: '/chat', states: Op, who: ['A'], success: 200 },
  {
    method: 'PUT',
    path: '/chat/organization',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 400,
    json: { name: 'x' },
  },
  {
    method: 'DELETE',
    path: '/chat/organization',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 404,
    json: { name: 'x' },
  },
  { method: 'GET', path: '/chat/settings', states: Op, who: ['A'], success: 200, lacking: 404 },
  { method: 'PUT', path: '/chat/settings', states: Op, who: ['A'], success: 204, lacking: 404, json: { url: '' } },
  {
    method: 'POST',
    path: '/chat/recover-owner',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 404,
    json: { email: 'olivia@example.org', password: 'a password of hers' },
  },
  { method: 'GET', path: '/chat/tls/public.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  { method: 'GET', path: '/chat/tls/cert.pem', states: Op, who: ['A'], success: 200, lacking: 404 },
  {
    method: 'PUT',
    path: '/chat/tls/cert.pem',
    states: Op,
    who: ['A'],
    success: 201,
    lacking: 404,
    body: pemFile('{chain}'),
  },
  {
    method: 'POST',
    path: '/chat/tls/csr.pem',
    states: Op,
    who: ['A'],
    success: 200,
    lacking: 404,
    json: { commonName: 'chat.example' },
  },
  {
    method: 'POST',
    path: '/chat/tls/generate',
    states: Op,
    who: ['A'],
    success: 204,
    lacking: 404,
    json: { type: 'EC_P256' },
  },
]

export const ROWS: readonly Row[] = [
  ...lifecycle,
  ...keys,
  ...namespaces,
  ...configuration,
  ...system,
  ...cluster,
  ...chat,
  ...added,
]

/** The first row of each set of callers, in each set of states. */
export const SAMPLE: ReadonlySet<Row> = new Set(
  Object.values(Object.groupBy(ROWS, ({ who, states }) => `${who} ${states}`)).map((rows) => rows![0]!),
)

export function expected(row: Row, state: StateLetter, caller: Caller): number {
  if (!row.states.includes(state)) return 412
  if (row.who === 'Pub' || row.publicIn?.includes(state)) return row.lacking ?? row.success
  if (caller === 'none' || caller === 'wrong') return 401
  if (state === 'F') return 401 // nothing is open to tell who somebody is
  if (!row.who.includes(caller)) return 403
  return row.lacking ?? row.instead?.[caller] ?? row.success
}
