/**
 * The commands of NetHSM's own command line under their names there, with its options, so that NetHSM's documentation can be
 * followed. Those that have the same name here (sign, unlock, update and others) take its options where they are.
 */

import { defined } from '../../../firmware/base/defined.ts'
import type { Command, CommandOptions, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { readInput, writeWhole } from '../files.ts'
import { getAuthority, JOIN, joinCluster, URLS } from './cluster.ts'
import {
  changeBackup,
  changeUnlock,
  LOGGING,
  NETWORK,
  NTP,
  PASSPHRASES,
  setLogging,
  setNetwork,
  setNtp,
  TLS_KEY,
  tlsKeyOf,
} from './config.ts'
import { ATTRIBUTES, attributesOf, generateKey, importPem, listKeys, SUBJECT, subjectOf } from './keys.ts'
import { timeOf } from './start.ts'
import { createBackup, factoryReset, RESTORE, reboot, restoreBackup, shutdown } from './system.ts'
import { addUser, listNamespaces, listUsers, NEW_USER, setPassphrase } from './users.ts'

type Run = Command['run']
const A = ['Administrator'] as const
const AO = ['Administrator', 'Operator'] as const
const KEY_ID = { 'key-id': { short: 'k', value: 'KEY', summary: 'id of the key' } } as const
const FORCE = { force: { short: 'f', summary: 'no confirmation' } } as const
const API = { api: { short: 'a', summary: 'use the appliance’s TLS port' } } as const

function nethsm(
  words: string,
  names: string,
  like: string,
  roles: Command['roles'],
  run: Run,
  options?: CommandOptions,
  example = names,
): Command {
  return {
    words,
    summary: `Same as coffer ${like}.`,
    ...(names !== '' && { arguments: names }),
    ...(roles && { roles }),
    ...(options && { options }),
    example: `coffer ${words}${example ? ` ${example}` : ''}`,
    isNethsm: true,
    run,
  }
}

export const NETHSM: Command[] = [
  nethsm(
    'add-key',
    '',
    'key import, from numbers in base64',
    A,
    addKey,
    {
      type: { short: 't', value: 'TYPE', summary: 'type of the key' },
      mechanism: defined(ATTRIBUTES.mechanism),
      tags: defined(ATTRIBUTES.tags),
      'prime-p': { short: 'p', value: '@FILE', secret: true, summary: 'file to read it from' },
      'prime-q': { short: 'q', value: '@FILE', secret: true, summary: 'file to read it from' },
      'public-exponent': { short: 'e', value: 'BASE64', summary: 'bits, for RSA' },
      data: { short: 'd', value: '@FILE', secret: true, summary: 'file with the private key' },
      ...KEY_ID,
    },
    '--type Curve25519 --mechanism EdDSA_Signature --data @seed.txt --key-id added',
  ),
  nethsm(
    'generate-key',
    '',
    'key generate',
    A,
    (context, input) => generateKey(context, input, input.text('key-id')),
    {
      type: { short: 't', value: 'TYPE', summary: 'RSA, Curve25519, EC_P256 or another type' },
      length: { short: 'l', value: 'BITS', summary: 'bits, for RSA and Generic' },
      mechanism: defined(ATTRIBUTES.mechanism),
      label: defined(ATTRIBUTES.label),
      ...KEY_ID,
    },
    '-t RSA -m RSA_Signature_PSS_SHA256 -l 2048 -k made',
  ),
  nethsm(
    'import-key',
    'FILE',
    'key import',
    A,
    (context, input) => importPem(context, input, input.argument(0), input.text('key-id')),
    { ...ATTRIBUTES, ...KEY_ID },
    '-m ECDSA_Signature -k imported old.pem',
  ),
  nethsm(
    'import-pkcs12',
    'FILE',
    'key import and key certificate set, of a PKCS #12 file',
    A,
    importPkcs12,
    {
      ...ATTRIBUTES,
      ...KEY_ID,
      password: { short: 'p', value: '@FILE', secret: true, summary: 'file with the password of the file' },
    },
    '-m ECDSA_Signature -k packed --password @password.txt old.p12',
  ),
  nethsm(
    'list-keys',
    '',
    'key list',
    AO,
    listKeys,
    {
      details: { summary: 'also type, uses, label and tags' },
      filter: { short: 'f', value: 'TEXT', summary: 'only keys that you can use as an Operator' },
      prefix: { short: 'p', value: 'PREFIX', summary: 'only keys whose ids begin with this' },
      label: { short: 's', value: 'TEXT', summary: 'only keys with this label' },
    },
    '--details',
  ),
  nethsm(
    'get-key',
    'KEY',
    'key show',
    AO,
    async ({ client, output }, input) => {
      const [id = ''] = input.arguments
      if (!input.flag('public-key')) return output.result(await client().key(id))
      const pem = await client().publicKey(id)
      output.result({ pem }, () => pem)
    },
    { 'public-key': { summary: 'the public key in PEM' } },
    'made --public-key',
  ),
  nethsm(
    'move-key',
    'KEY NEW',
    'key move',
    A,
    async ({ client }, { arguments: [id = '', to = ''] }) => void (await client().moveKey(id, to)),
    undefined,
    'made remade',
  ),
  nethsm(
    'set-key-label',
    'KEY TEXT',
    'key label set',
    A,
    ({ client }, { arguments: [id = '', label = ''] }) => client().setKeyLabel(id, label),
    undefined,
    'remade blue',
  ),
  nethsm(
    'delete-key-label',
    'KEY',
    'key label delete',
    A,
    ({ client }, { arguments: [id = ''] }) => client().deleteKeyLabel(id),
    undefined,
    'remade',
  ),
  nethsm(
    'add-key-tag',
    'KEY TAG',
    'key tag add',
    A,
    ({ client }, { arguments: [id = '', tag = ''] }) => client().addKeyTag(id, tag),
    undefined,
    'remade berlin',
  ),
  nethsm(
    'delete-key-tag',
    'KEY TAG',
    'key tag delete',
    A,
    ({ client }, { arguments: [id = '', tag = ''] }) => client().deleteKeyTag(id, tag),
    undefined,
    'remade berlin',
  ),
  nethsm(
    'delete-key',
    'KEY',
    'key delete --force',
    A,
    ({ client }, { arguments: [id = ''] }) => client().deleteKey(id),
    undefined,
    'remade',
  ),
  nethsm(
    'set-certificate',
    'FILE',
    'key certificate set',
    A,
    async ({ client }, input) => {
      const bytes = readInput(input.argument(0))
      if (input.flag('api')) await client().setTlsCertificate(bytes.toString('utf8'))
      else await client().setKeyCertificate(keyOf(input), bytes)
    },
    { ...API, ...KEY_ID },
    '--key-id imported web.crt',
  ),
  nethsm(
    'get-certificate',
    '',
    'key certificate get',
    AO,
    async ({ client, output }, input) => {
      const bytes = input.flag('api')
        ? Buffer.from(await client().tlsCertificate())
        : await client().keyCertificate(keyOf(input))
      const { certificatesOf } = await import('../../../firmware/client/certificate.ts')
      if (input.flag('json')) output.result(certificatesOf(bytes))
      else output.raw(bytes)
    },
    { ...API, ...KEY_ID },
    '--key-id imported',
  ),
  nethsm(
    'delete-certificate',
    '',
    'key certificate delete',
    A,
    ({ client }, input) => client().deleteKeyCertificate(keyOf(input)),
    KEY_ID,
    '--key-id imported',
  ),
  nethsm(
    'add-user',
    '',
    'user add',
    A,
    (context, input) => addUser(context, input, input.text('user-id')),
    {
      ...NEW_USER,
      'user-id': { short: 'u', value: 'USER', summary: 'id; default: random' },
      namespace: { short: 'N', value: 'NAME', summary: 'namespace of the new user' },
      'create-namespace': { summary: 'also create the namespace' },
    },
    '--real-name Guest --role Operator --user-id guest2',
  ),
  nethsm('list-users', '', 'user list', A, listUsers, { details: { summary: 'also names and roles' } }),
  nethsm(
    'get-user',
    'USER',
    'user show',
    AO,
    async ({ client, output }, { arguments: [id = ''] }) => output.result(await client().user(id)),
    undefined,
    'guest2',
  ),
  nethsm(
    'set-passphrase',
    '',
    'user passphrase',
    AO,
    (context, input) => setPassphrase(context, input.text('user-id')),
    {
      'user-id': { short: 'u', value: 'USER', summary: 'the user; default: your own account' },
      passphrase: NEW_USER.passphrase,
    },
    '--user-id guest2',
  ),
  nethsm(
    'add-operator-tag',
    'USER TAG',
    'user tag add',
    A,
    ({ client }, { arguments: [id = '', tag = ''] }) => client().addUserTag(id, tag),
    undefined,
    'guest2 berlin',
  ),
  nethsm(
    'list-operator-tags',
    'USER',
    'user tag list',
    AO,
    async ({ client, output }, { arguments: [id = ''] }) => {
      const tags = await client().userTags(id)
      output.result(tags, () => tags.join('\n'))
    },
    undefined,
    'guest2',
  ),
  nethsm(
    'delete-operator-tag',
    'USER TAG',
    'user tag delete',
    A,
    ({ client }, { arguments: [id = '', tag = ''] }) => client().deleteUserTag(id, tag),
    undefined,
    'guest2 berlin',
  ),
  nethsm(
    'delete-user',
    'USER',
    'user delete --force',
    A,
    ({ client }, { arguments: [id = ''] }) => client().deleteUser(id),
    undefined,
    'guest2',
  ),
  nethsm(
    'add-namespace',
    'NAME',
    'namespace add',
    A,
    ({ client }, { arguments: [id = ''] }) => client().addNamespace(id),
    undefined,
    'paris',
  ),
  nethsm('list-namespaces', '', 'namespace list', A, listNamespaces),
  nethsm(
    'delete-namespace',
    'NAME',
    'namespace delete --force',
    A,
    ({ client }, { arguments: [id = ''] }) => client().deleteNamespace(id),
    undefined,
    'paris',
  ),
  nethsm(
    'get-config',
    '',
    'config',
    A,
    getConfig,
    Object.fromEntries(
      ['logging', 'network', 'time', 'ntp', 'unattended-boot', 'public-key', 'certificate'].map((name) => [
        name,
        { summary: 'only this setting' },
      ]),
    ),
  ),
  nethsm(
    'set-logging-config',
    '',
    'config logging',
    A,
    setLogging,
    LOGGING,
    '--ip-address 0.0.0.0 --port 514 --log-level info',
  ),
  nethsm(
    'set-network-config',
    '',
    'config network',
    A,
    setNetwork,
    NETWORK,
    '--ip-address 192.168.1.1 --netmask 255.255.255.0 --gateway 0.0.0.0',
  ),
  nethsm('set-ntp-config', '', 'config ntp', A, setNtp, NTP),
  nethsm(
    'set-time',
    '[TIME]',
    'config time',
    A,
    ({ client }, { arguments: [time] }) => client().setTime(timeOf(time)),
    undefined,
    '',
  ),
  nethsm(
    'set-unattended-boot',
    'STATUS',
    'config unattended-boot',
    A,
    ({ client }, { arguments: [status] }) => {
      if (status !== 'on' && status !== 'off') throw usage('on or off')
      return client().setUnattendedBoot({ status })
    },
    undefined,
    'off',
  ),
  nethsm('set-unlock-passphrase', '', 'config unlock-passphrase', A, changeUnlock, { ...PASSPHRASES, ...FORCE }),
  nethsm('set-backup-passphrase', '', 'config backup-passphrase', A, changeBackup, { ...PASSPHRASES, ...FORCE }),
  nethsm(
    'generate-tls-key',
    '',
    'config tls generate',
    A,
    ({ client }, input) => client().generateTlsKey(tlsKeyOf(input)),
    TLS_KEY,
    '--type EC_P256',
  ),
  nethsm('system-info', '', 'system info', A, async ({ client, output }) => output.result(await client().systemInfo())),
  nethsm(
    'backup',
    'FILE',
    'backup create',
    ['Backup'],
    (context, { arguments: [file = ''] }) => createBackup(context, file),
    undefined,
    'other.backup',
  ),
  nethsm(
    'validate-backup',
    'FILE',
    'backup restore, which validates it',
    undefined,
    validateBackup,
    {
      'backup-passphrase': { short: 'p', value: '@FILE', secret: true, summary: 'also check the sealed content' },
    },
    'other.backup',
  ),
  nethsm(
    'export-backup',
    'FILE',
    'backup restore, to a file of JSON',
    undefined,
    exportBackup,
    {
      'backup-passphrase': { short: 'p', value: '@FILE', secret: true, summary: 'file to read it from' },
    },
    'other.backup',
  ),
  nethsm(
    'restore',
    'FILE',
    'backup restore',
    A,
    (context, input) => restoreBackup(context, input, input.argument(0)),
    RESTORE,
    'other.backup --force',
  ),
  nethsm('reboot', '', 'system reboot', A, reboot, FORCE, '--force'),
  nethsm('shutdown', '', 'system shutdown', A, shutdown, FORCE, '--force'),
  nethsm('factory-reset', '', 'system factory-reset', A, factoryReset, FORCE, '--force'),
  nethsm('list-cluster-members', '', 'cluster list', A, async ({ client, output }) =>
    output.result(await client().members()),
  ),
  nethsm(
    'add-cluster-member',
    'FILE',
    'cluster add',
    A,
    addMemberFile,
    URLS,
    'joiner.json --url https://192.168.1.2:2380',
  ),
  nethsm(
    'set-cluster-member-urls',
    'MEMBER',
    'cluster set',
    A,
    ({ client }, input) => client().setMember(input.argument(0), input.list('url')),
    URLS,
    '1f --url https://192.168.1.2:2380',
  ),
  nethsm(
    'remove-cluster-member',
    'MEMBER',
    'cluster delete',
    A,
    ({ client }, { arguments: [id = ''] }) => client().deleteMember(id),
    undefined,
    '1f',
  ),
  nethsm(
    'promote-cluster-member',
    'MEMBER',
    'cluster promote',
    A,
    ({ client }, { arguments: [id = ''] }) => client().promoteMember(id),
    undefined,
    '1f',
  ),
  nethsm('join-cluster', 'FILE', 'cluster join', A, joinCluster, JOIN, 'joiner.json'),
  nethsm(
    'force-new-cluster',
    '',
    'cluster force-new',
    A,
    ({ client }) => client().forceNewCluster(),
    undefined,
    '--user unlock',
  ),
  nethsm('get-cluster-ca-certificate', '', 'cluster authority get', A, getAuthority),
  nethsm(
    'set-cluster-ca-certificate',
    'FILE',
    'cluster authority set',
    A,
    ({ client }, { arguments: [file = ''] }) => client().setClusterAuthority(readInput(file).toString('utf8')),
    undefined,
    'ca.pem',
  ),
  ...clusterTls(),
  nethsm('get-cluster-diagnostics', '', 'diagnose', A, async ({ client, open, output }) => {
    const isOpen = (await open().state()) !== 'Operational'
    output.result(await (isOpen ? open() : client()).diagnose())
  }),
]

/** Words of pynitrokey for NetHSM 5.1, derived from the functions of its library. Contract section 3.6. */
function clusterTls(): Command[] {
  return [
    nethsm('get-cluster-public-key', '', 'cluster tls public', A, async ({ client, output }) => {
      const pem = await client().clusterPublicKey()
      output.result({ pem }, () => pem)
    }),
    nethsm('get-cluster-certificate', '', 'cluster tls certificate get', A, async ({ client, output }) => {
      const pem = await client().clusterCertificate()
      output.result({ pem }, () => pem)
    }),
    nethsm(
      'set-cluster-certificate',
      'FILE',
      'cluster tls certificate set',
      A,
      ({ client }, { arguments: [file = ''] }) => client().setClusterCertificate(readInput(file).toString('utf8')),
      undefined,
      'chain.pem',
    ),
    nethsm(
      'generate-cluster-key',
      '',
      'cluster tls generate',
      A,
      ({ client }, input) => client().generateClusterKey(tlsKeyOf(input)),
      TLS_KEY,
      '--type EC_P256',
    ),
    nethsm(
      'cluster-csr',
      '',
      'cluster tls csr',
      A,
      async ({ client, output }, input) => {
        const pem = await client().clusterRequest(subjectOf(input))
        output.result({ pem }, () => pem)
      },
      SUBJECT,
      '--name node1.example.org',
    ),
  ]
}

/** Private numbers come from files, like passphrases. */
async function addKey({ client, output, passphrase }: CommandContext, input: OptionValues): Promise<void> {
  const type = input.text('type')
  if (type === undefined) throw usage('--type is missing')
  const exponent = input.text('public-exponent')
  const secret: Record<string, string> = {}
  for (const [name, member] of [
    ['prime-p', 'primeP'],
    ['prime-q', 'primeQ'],
    ['data', 'data'],
  ] as const)
    if (input.text(name) !== undefined) secret[member] = await passphrase(name, name)
  if (exponent !== undefined) secret.publicExponent = exponent
  const key = { ...attributesOf(input), type, private: secret }
  const id = input.text('key-id')
  if (id === undefined) {
    const made = await client().importKey(key)
    return output.result(made, () => made.id)
  }
  await client().importKeyAs(id, key)
  output.result({ id }, () => id)
}

/** OpenSSL opens it; its password and the key go through pipes. */
async function importPkcs12({ client, output, passphrase }: CommandContext, input: OptionValues): Promise<void> {
  const { spawnSync } = await import('node:child_process')
  const [file = ''] = input.arguments
  const password = await passphrase('password', `Password of ${file}`)
  const run = (...options: string[]) => {
    const { status, stdout, stderr, error } = spawnSync(
      'openssl',
      ['pkcs12', '-in', file, '-passin', 'stdin', ...options],
      {
        input: `${password}\n`,
      },
    )
    if (error) throw new Failure(EXIT.refused, 'openssl is missing: it opens PKCS #12 files')
    if (status !== 0) throw new Failure(EXIT.refused, `openssl: ${stderr.toString().split('\n')[0]}`)
    return stdout.toString()
  }
  const key = pemOf(
    run('-nocerts', '-nodes'),
    /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/,
  )
  const certificate = pemOf(run('-nokeys', '-clcerts'), /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/)
  if (key === null) throw new Failure(EXIT.refused, `no private key: ${file}`)
  const api = client()
  let id = input.text('key-id')
  if (id === undefined) id = (await api.importKey(attributesOf(input), key)).id
  else await api.importKeyAs(id, attributesOf(input), key)
  if (certificate !== null) await api.setKeyCertificate(id, Buffer.from(certificate))
  output.result({ id }, () => id)
}

const pemOf = (text: string, pattern: RegExp): string | null => {
  const found = pattern.exec(text)
  return found === null ? null : `${found[0]}\n`
}

async function getConfig({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const api = client()
  const calls: Record<string, () => Promise<unknown>> = {
    logging: () => api.logging(),
    network: () => api.network(),
    time: () => api.time(),
    ntp: () => api.ntp(),
    'unattended-boot': () => api.unattendedBoot(),
    'public-key': () => api.tlsPublicKey(),
    certificate: () => api.tlsCertificate(),
  }
  const wanted = Object.keys(calls).filter((name) => input.flag(name))
  const found: Record<string, unknown> = {}
  for (const name of wanted.length > 0 ? wanted : Object.keys(calls)) found[name] = await defined(calls[name])()
  output.result(found)
}

async function addMemberFile(context: CommandContext, input: OptionValues): Promise<void> {
  const added = await context.client().addMember(input.list('url'))
  await writeWhole(input.argument(0), [Buffer.from(JSON.stringify(added))], context.signal)
}

async function validateBackup({ output, passphrase, input }: CommandContext): Promise<void> {
  const { openBackup } = await import('../backup-file.ts')
  const isSealed = input.text('backup-passphrase') === undefined
  const words = isSealed ? null : await passphrase('backup-passphrase', 'Passphrase of the backup')
  const { version, entries } = openBackup(readInput(input.argument(0)), words)
  output.result({ version, entries: entries.length }, () =>
    words === null
      ? `A backup of format ${version}; what is sealed in it was not looked at.`
      : `A backup of format ${version} with ${entries.length} entries, whole.`,
  )
}

async function exportBackup({ output, passphrase, input }: CommandContext): Promise<void> {
  const { openBackup } = await import('../backup-file.ts')
  const words = await passphrase('backup-passphrase', 'Passphrase of the backup')
  const { version, salt, domainKey, entries } = openBackup(readInput(input.argument(0)), words)
  const data = Object.fromEntries(entries.map(({ path, value }) => [path, value]))
  output.result({ version, backupSalt: salt, lockedDomainKey: domainKey, data }, () =>
    JSON.stringify({ version, backupSalt: salt, lockedDomainKey: domainKey, data }, null, 2),
  )
}

function keyOf(input: OptionValues): string {
  const id = input.text('key-id')
  if (id === undefined) throw usage('--key-id is missing')
  return id
}
