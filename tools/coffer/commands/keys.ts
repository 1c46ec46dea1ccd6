/** Keys: making, showing, labeling, moving and deleting them, and their certificates. */

import { defined } from '../../../firmware/base/defined.ts'
import { PURPOSES, type PurposeName } from '../../../firmware/client/purposes.ts'
import type {
  Key,
  KeyAttributes,
  KeyPage,
  KeyVersionLimits,
  KeyVersions,
  Subject,
} from '../../../firmware/client/types.ts'
import type { Command, CommandOptions, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { readInput, writeWhole } from '../files.ts'
import { table } from '../output.ts'
import { jwkText, partsOf, sshText } from '../public.ts'
import { certain } from './start.ts'

const MECHANISM = {
  value: 'NAME',
  many: true,
  summary: 'permitted mechanism, repeatable',
} as const
export const ATTRIBUTES: CommandOptions = {
  mechanism: { ...MECHANISM, short: 'm' },
  label: { short: 's', value: 'TEXT', summary: 'text of up to 32 bytes' },
  tags: { value: 'TAG', many: true, summary: 'only Operators with this tag can use the key, repeatable' },
}
export const SUBJECT: CommandOptions = {
  'common-name': { value: 'TEXT', summary: 'CN; default: the first --name' },
  name: { value: 'NAME', many: true, summary: 'DNS name or address (subjectAltName), repeatable' },
  san: { value: 'NAME', many: true, summary: 'the same as --name' },
  'no-san': { summary: 'no subjectAltName' },
  country: { value: 'XX', summary: 'C' },
  'state-or-province': { value: 'TEXT', summary: 'ST' },
  locality: { value: 'TEXT', summary: 'L' },
  organization: { value: 'TEXT', summary: 'O' },
  'organizational-unit': { value: 'TEXT', summary: 'OU' },
  'email-address': { value: 'TEXT', summary: 'email address' },
}

const FORMS = ['pem', 'jwk', 'ssh'] as const

export const KEYS: Command[] = [
  {
    words: 'key list',
    arguments: '[PREFIX]',
    summary: 'List keys.',
    roles: ['Administrator', 'Operator'],
    options: {
      label: { value: 'TEXT', summary: 'only keys with this label' },
      usable: { summary: 'only keys that you can use as an Operator' },
      long: { short: 'l', summary: 'also type, uses, label and tags' },
    },
    example: 'coffer key list',
    isFirst: true,
    run: listKeys,
  },
  {
    words: 'key show',
    arguments: 'KEY',
    summary: 'Show a key: type, mechanisms, uses, label, tags, public part.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer key show web-key',
    run: async ({ client, output }, { arguments: [id = ''] }) => output.result(await client().key(id)),
  },
  {
    words: 'key generate',
    arguments: '[KEY]',
    summary: 'Generate a key, by purpose or by type and mechanisms.',
    roles: ['Administrator'],
    options: {
      for: { value: 'PURPOSE', choices: Object.keys(PURPOSES), summary: 'purpose, which selects type and mechanisms' },
      type: { short: 't', value: 'TYPE', summary: 'RSA, Curve25519, EC_P256 or another type' },
      length: { short: 'l', value: 'BITS', summary: 'bits, for RSA and Generic' },
      ...ATTRIBUTES,
    },
    example: 'coffer key generate web-key --for tls',
    isFirst: true,
    run: (context, input) => generateKey(context, input, input.arguments[0]),
  },
  {
    words: 'key import',
    arguments: 'FILE [KEY]',
    summary: 'Import a private key (PEM).',
    roles: ['Administrator'],
    options: ATTRIBUTES,
    example: 'coffer key import old.pem old-key --mechanism ECDSA_Signature',
    run: (context, input) => importPem(context, input, input.argument(0), input.arguments[1]),
  },
  {
    words: 'key versions',
    arguments: 'KEY',
    summary: 'List the versions of a key, for the transit API.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer key versions old-key',
    run: async ({ client, output }, input) => {
      const versions = await client().keyVersions(input.argument(0))
      const cells = versions.versions.map(({ version, created }) => [version, created, useOf(versions, version)])
      output.result(versions, () => table(['VERSION', 'CREATED', 'USE'], cells))
    },
  },
  {
    words: 'key rotate',
    arguments: 'KEY',
    summary: 'Add a version to a key, which the transit API uses from then on, and print its number.',
    roles: ['Administrator'],
    example: 'coffer key rotate old-key',
    run: async ({ client, output }, input) => {
      const version = await client().rotateKey(input.argument(0))
      output.result({ version }, () => String(version))
    },
  },
  {
    words: 'key retire',
    arguments: 'KEY VERSION',
    summary: 'Forbid the use of the versions of a key up to VERSION; 0 allows all again.',
    roles: ['Administrator'],
    options: {
      'keep-opening': { summary: 'they still decrypt and verify' },
      delete: { summary: 'also delete them permanently' },
      force: { short: 'f', summary: 'no confirmation' },
    },
    example: 'coffer key retire old-key 0',
    run: retireVersions,
  },
  {
    words: 'key move',
    arguments: 'KEY NEW',
    summary: 'Rename a key.',
    roles: ['Administrator'],
    example: 'coffer key move old-key older-key',
    run: async ({ client, output }, { arguments: [id = '', to = ''] }) => {
      const made = await client().moveKey(id, to)
      output.result(made, () => made.id)
    },
  },
  {
    words: 'key delete',
    arguments: 'KEY',
    summary: 'Delete a key and its certificate permanently.',
    roles: ['Administrator'],
    options: { force: { short: 'f', summary: 'no confirmation' } },
    example: 'coffer key delete older-key --force',
    run: async ({ client }, input) => {
      const [id = ''] = input.arguments
      await certain(input.flag('force'), `Key ${id} is lost for ever.`, id)
      await client().deleteKey(id)
    },
  },
  {
    words: 'key label set',
    arguments: 'KEY TEXT',
    summary: 'Set the label of a key.',
    roles: ['Administrator'],
    example: 'coffer key label set web-key "www since 2026"',
    run: ({ client }, { arguments: [id = '', label = ''] }) => client().setKeyLabel(id, label),
  },
  {
    words: 'key label delete',
    arguments: 'KEY',
    summary: 'Remove the label of a key.',
    roles: ['Administrator'],
    example: 'coffer key label delete web-key',
    run: ({ client }, { arguments: [id = ''] }) => client().deleteKeyLabel(id),
  },
  {
    words: 'key tag add',
    arguments: 'KEY TAG',
    summary: 'Restrict a key to Operators with a tag.',
    roles: ['Administrator'],
    example: 'coffer key tag add web-key berlin',
    run: ({ client }, { arguments: [id = '', tag = ''] }) => client().addKeyTag(id, tag),
  },
  {
    words: 'key tag delete',
    arguments: 'KEY TAG',
    summary: 'Remove a tag from a key.',
    roles: ['Administrator'],
    example: 'coffer key tag delete web-key berlin',
    run: ({ client }, { arguments: [id = '', tag = ''] }) => client().deleteKeyTag(id, tag),
  },
  {
    words: 'key public',
    arguments: 'KEY',
    summary: 'Print the public key.',
    roles: ['Operator', 'Administrator'],
    options: { form: { value: 'FORM', choices: FORMS, summary: 'format; default: pem' } },
    example: 'coffer key public web-key --form ssh',
    run: async ({ client, output }, input) => {
      const [id = ''] = input.arguments
      const form = input.text('form') ?? 'pem'
      const text = form === 'pem' ? await client().publicKey(id) : publicText(await client().key(id), id, form)
      output.result(form === 'jwk' ? JSON.parse(text) : { [form]: text }, () => text)
    },
  },
  {
    words: 'key certificate set',
    arguments: 'KEY FILE',
    summary: 'Store a certificate with a key; "-" is stdin.',
    roles: ['Administrator'],
    example: 'coffer key certificate set web-key web.crt',
    run: ({ client }, { arguments: [id = '', file = ''] }) => client().setKeyCertificate(id, readInput(file)),
  },
  {
    words: 'key certificate get',
    arguments: 'KEY',
    summary: 'Print the certificate of a key, as it was stored.',
    roles: ['Operator', 'Administrator'],
    options: { facts: { summary: 'names and dates instead of the certificate' } },
    example: 'coffer key certificate get web-key',
    run: async ({ client, output }, input) => {
      const bytes = await client().keyCertificate(input.argument(0))
      if (!input.flag('facts') && !input.flag('json')) return output.raw(bytes)
      const { certificatesOf } = await import('../../../firmware/client/certificate.ts')
      output.result(certificatesOf(bytes))
    },
  },
  {
    words: 'key certificate delete',
    arguments: 'KEY',
    summary: 'Remove the certificate of a key.',
    roles: ['Administrator'],
    example: 'coffer key certificate delete web-key',
    run: ({ client }, { arguments: [id = ''] }) => client().deleteKeyCertificate(id),
  },
  {
    words: 'csr',
    arguments: '[KEY]',
    summary: 'Print a certificate request signed with a key.',
    roles: ['Operator', 'Administrator'],
    options: {
      ...SUBJECT,
      'key-id': { short: 'k', value: 'KEY', summary: 'the same as KEY' },
      api: { short: 'a', summary: 'use the key of the appliance’s TLS port' },
      output: { value: 'FILE', summary: 'output file; default: stdout' },
    },
    example: 'coffer csr web-key --name www.example.org',
    run: async (context, input) => {
      const [id = input.text('key-id')] = input.arguments
      if (!input.flag('api') && id === undefined) throw usage('KEY is missing')
      const subject = subjectOf(input)
      const { output, signal } = context
      const client = input.flag('api') ? defined(context.as('Administrator')) : context.client()
      const pem = input.flag('api') ? await client.tlsRequest(subject) : await client.keyRequest(defined(id), subject)
      const file = input.text('output')
      if (file !== undefined) await writeWhole(file, [Buffer.from(pem)], signal)
      else output.result({ pem }, () => pem)
    },
  },
]

function useOf({ minDecryption, minEncryption, latest }: KeyVersions, version: number): string {
  if (version < minDecryption) return 'retired'
  if (version < minEncryption) return 'decrypt, verify'
  return version === latest ? 'newest' : 'all'
}

async function retireVersions({ client }: CommandContext, input: OptionValues): Promise<void> {
  const [id, text] = [input.argument(0), input.argument(1)]
  if (!/^\d{1,9}$/.test(text)) throw usage('VERSION must be a number')
  const last = Number(text)
  if (input.flag('keep-opening') && input.flag('delete')) throw usage('--keep-opening and --delete exclude each other')
  const now = await client().keyVersions(id)
  const limits = limitsAfter(now, last, input.flag('keep-opening'))
  if (!input.flag('delete') || last === 0) return client().changeKeyVersions(id, limits)
  await certain(input.flag('force'), `Versions 1 to ${text} of key ${id} are lost for ever.`, id)
  await client().changeKeyVersions(id, { ...limits, minAvailable: Math.max(last + 1, now.minAvailable) })
}

/** Limits that retire the versions up to `last`. Only 0 allows versions again, as far as they are stored. */
function limitsAfter(now: KeyVersions, last: number, keepsOpening: boolean): Partial<KeyVersionLimits> {
  const { minAvailable } = now
  if (last === 0) {
    const minDecryption = keepsOpening ? now.minDecryption : Math.max(minAvailable, 1)
    const minEncryption = minAvailable === 0 ? 0 : minDecryption
    return keepsOpening ? { minEncryption } : { minDecryption, minEncryption }
  }
  const minDecryption = keepsOpening ? now.minDecryption : Math.max(last + 1, now.minDecryption)
  const minEncryption = Math.max(last + 1, now.minEncryption, minDecryption)
  return keepsOpening ? { minEncryption } : { minDecryption, minEncryption }
}

export async function listKeys({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const [prefix = input.text('prefix')] = input.arguments
  const label = input.text('label')
  const filter = {
    types: 'all' as const,
    ...(label !== undefined && { label }),
    ...((input.flag('usable') || input.text('filter') !== undefined) && { filter: true }),
  }
  const api = client()
  if (!input.flag('long') && !input.flag('details')) {
    const keys = prefix === undefined ? await api.keys(filter) : await api.keysWithPrefix(prefix, filter)
    const ids = () => keys.map(({ id }) => id)
    return output.result(keys, () => ids().join('\n'), ids)
  }
  const keys = await detailedKeys(api, { ...filter }, prefix)
  output.result(
    keys,
    () =>
      table(
        ['KEY', 'TYPE', 'USES', 'LABEL', 'TAGS', 'MECHANISMS'],
        keys.map(({ id, type, operations, label, restrictions, mechanisms }) => [
          id,
          type,
          operations,
          label,
          (restrictions.tags ?? []).join(','),
          mechanisms.join(','),
        ]),
      ),
    () => keys.map(({ id }) => id),
  )
}

const PAGE_KEYS = 1000

/** Page by page. */
export async function detailedKeys(
  api: ReturnType<CommandContext['client']>,
  filter: { filter?: boolean; label?: string; types?: 'all' },
  prefix?: string,
): Promise<KeyPage['keys']> {
  const keys: KeyPage['keys'] = []
  for (let after: string | undefined; ; ) {
    const query = { ...filter, details: true, limit: PAGE_KEYS, ...(after !== undefined && { after }) }
    const found = (await (prefix === undefined
      ? api.keys(query)
      : api.keysWithPrefix(prefix, query))) as unknown as KeyPage
    keys.push(...found.keys)
    if (found.next === undefined) return keys
    after = found.next
  }
}

export async function generateKey(
  { client, output }: CommandContext,
  input: OptionValues,
  id: string | undefined,
): Promise<void> {
  const purpose = PURPOSES[input.text('for') as PurposeName]
  const type = input.text('type') ?? purpose?.type
  if (type === undefined)
    throw usage('what for?', `--for ${Object.keys(PURPOSES).join(', ')}; or --type and --mechanism`)
  const length = input.number('length') ?? purpose?.length
  const attributes = attributesOf(input)
  const mechanisms = attributes.mechanisms.length > 0 ? attributes.mechanisms : [...(purpose?.mechanisms ?? [])]
  const made = await client().generateKey({
    ...attributes,
    mechanisms,
    type,
    ...(length !== undefined && { length }),
    ...(id !== undefined && { id }),
  })
  output.result(made, () => made.id)
}

export async function importPem(
  { client, output }: CommandContext,
  input: OptionValues,
  file: string,
  id: string | undefined,
) {
  const pem = readInput(file).toString('latin1')
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) throw new Failure(EXIT.refused, `no private key in PEM: ${file}`)
  const attributes = attributesOf(input)
  if (id === undefined) {
    const made = await client().importKey(attributes, pem)
    return output.result(made, () => made.id)
  }
  await client().importKeyAs(id, attributes, pem)
  output.result({ id }, () => id)
}

export function attributesOf(input: OptionValues): KeyAttributes {
  const tags = input.list('tags')
  const label = input.text('label')
  return {
    mechanisms: input.list('mechanism'),
    ...(tags.length > 0 && { restrictions: { tags } }),
    ...(label !== undefined && { label }),
  }
}

export function subjectOf(input: OptionValues): Subject {
  const written = [...input.list('name'), ...input.list('san')]
  const commonName = input.text('common-name') ?? written[0]
  if (commonName === undefined) throw usage('whose certificate is it?', '--name www.example.org, or --common-name TEXT')
  const members = {
    countryName: input.text('country'),
    stateOrProvinceName: input.text('state-or-province'),
    localityName: input.text('locality'),
    organizationName: input.text('organization'),
    organizationalUnitName: input.text('organizational-unit'),
    emailAddress: input.text('email-address'),
  }
  const known = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
  const isNone = input.flag('no-san') // without the member the appliance takes the common name
  const names = isNone
    ? []
    : written.map((name) => (/^[\d.]+$|^[0-9a-f.]*:[0-9a-f:.]*$/i.test(name) ? `IP:${name}` : name))
  return { commonName, ...known, ...((isNone || names.length > 0) && { subjectAltNames: names }) }
}

function publicText(key: Key, id: string, form: string): string {
  const text = form === 'jwk' ? jwkText(partsOf(key)) : sshText(partsOf(key), id)
  if (text === null) throw new Failure(EXIT.refused, `a key of type ${key.type} has no form for ${form}`)
  return text
}
