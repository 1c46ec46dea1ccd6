/** Bodies of the key endpoints in both vocabularies. Contract sections 4.4 to 4.6 and 5 (rows 1 to 8). */

import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { matchSchema, parseJson } from '../../base/json.ts'
import { KEY_TYPE_NAMES, type KeyTypeName, MECHANISM_NAMES } from '../../crypto/algorithms.ts'
import type { Part } from '../../http/request/multipart.ts'
import type { KeyMaterial } from '../domain/key-import.ts'
import type { NewKey } from '../domain/keys.ts'
import { base64, base64Text, id, integer, label, tags } from './schema.ts'

export const mechanisms = z.array(z.enum(MECHANISM_NAMES).meta({ id: 'Mechanism' }))
const keyType = z
  .enum(KEY_TYPE_NAMES)
  .meta({ id: 'KeyType', description: '`type` and `algorithm` mean the same; one of them is needed.' })
const restrictions = z.strictObject({ tags: tags.optional() }).meta({ id: 'Restrictions' })

const MECHANISMS_MAX = MECHANISM_NAMES.length * 4 // tolerates repetitions within a bound

const attributes = {
  mechanisms: mechanisms.max(MECHANISMS_MAX),
  restrictions: restrictions.optional(),
  label: label.optional(),
}
const typed = { type: keyType.optional(), algorithm: keyType.optional() }

type Attributes = z.infer<z.ZodObject<typeof attributes>>

const newKey = ({ mechanisms, restrictions, label }: Attributes): NewKey => ({
  mechanisms,
  tags: restrictions?.tags ?? [],
  label: label ?? '',
})

/** Adds an issue that concerns no single member. */
function refuse(context: z.core.$RefinementCtx, message: string): typeof z.NEVER {
  context.issues.push({ code: 'custom', message, input: undefined })
  return z.NEVER
}

/** Requires exactly one type, under either name or both. */
export function typeNameOf(
  { type, algorithm }: { type?: KeyTypeName | undefined; algorithm?: KeyTypeName | undefined },
  context: z.core.$RefinementCtx,
): KeyTypeName {
  const name = type ?? algorithm
  if (name === undefined) return refuse(context, 'type is missing')
  if (algorithm !== undefined && algorithm !== name) return refuse(context, 'type and algorithm differ')
  return name
}

const wantedId = z.union([id, z.literal('')]).transform((text) => (text === '' ? undefined : text))

export const keyGenerate = z
  .strictObject({ ...attributes, ...typed, length: z.int().optional(), id: wantedId.optional() })
  .meta({ id: 'KeyGenerate', examples: [{ id: 'myKey1', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }] })
  .transform((body, context) => ({
    id: body.id,
    length: body.length,
    key: newKey(body),
    typeName: typeNameOf(body, context),
  }))

const privateKey = z.union(
  [
    z.strictObject({ primeP: base64(1), primeQ: base64(1), publicExponent: base64(1) }),
    z.strictObject({ data: base64(1) }),
  ],
  { error: ({ input }) => privateProblem(input) },
)

const NEITHER = 'must have data, or for RSA primeP, primeQ and publicExponent'

/** Names the wrong member, never its value. */
function privateProblem(input: unknown): string {
  if (typeof input !== 'object' || input === null) return 'must be an object'
  const members = 'data' in input ? ['data'] : ['primeP', 'primeQ', 'publicExponent']
  const values = input as Record<string, unknown>
  const missing = members.find((name) => values[name] === undefined)
  if (missing === 'primeP') return NEITHER
  if (missing !== undefined) return `${missing} is missing`
  const wrong = members.find((name) => !isFilledBase64(values[name]))
  return wrong === undefined ? NEITHER : `must be base64, and not empty: ${wrong}`
}

const isFilledBase64 = (value: unknown): boolean => base64(1).safeParse(value).success

/** A key to import: its fields, or a PEM file that determines type and fields. */
export type KeyImport = { key: NewKey } & ({ typeName: KeyTypeName; material: KeyMaterial } | { pem: Uint8Array })

export const keyImport = z
  .strictObject({ ...attributes, ...typed, private: privateKey.optional(), key: privateKey.optional() })
  .meta({
    id: 'KeyImport',
    examples: [
      {
        type: 'Generic',
        mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
        private: { data: 'MDEyMzQ1Njc4OWFiY2RlZg==' },
      },
    ],
  })
  .transform((body, context): KeyImport => {
    const material = body.private ?? body.key
    if (material === undefined) return refuse(context, 'private is missing')
    if (body.private !== undefined && body.key !== undefined)
      return refuse(context, 'private and key exclude each other')
    return { key: newKey(body), typeName: typeNameOf(body, context), material }
  })

const ARGUMENTS = 'arguments'

/** Requires exactly two parts in any order: `arguments`, and the file under any name. */
export function keyImportParts(parts: readonly Part[]): KeyImport {
  const file = parts.find(({ name }) => name !== ARGUMENTS)
  const input = parts.find(({ name }) => name === ARGUMENTS)
  if (parts.length !== 2 || file === undefined || input === undefined)
    throw new CofferError('invalid', `Exactly two parts are needed: ${ARGUMENTS} and a PEM file`)
  return { key: newKey(matchSchema(z.strictObject(attributes), parseJson(input.bytes), ARGUMENTS)), pem: file.bytes }
}

export const createId = z.object({ id }).meta({ id: 'CreateId' })

const ORIGINAL = 'Not with `/config/vocabulary` set to `reference`.'
const REFERENCE = 'Not with `/config/vocabulary` set to `original`.'

/** Required members in the documents, which describe the default vocabulary. */
const DESCRIBED = { item: ['id'], key: ['mechanisms', 'type', 'restrictions', 'operations'] }

const listed = {
  id: id.optional().meta({ description: REFERENCE }),
  key: id.optional().meta({ description: ORIGINAL }),
}

export const keyList = z.array(z.object(listed).meta({ required: DESCRIBED.item })).meta({ id: 'KeyList' })

const OPERATIONS_DESCRIBED_MAX = 2_147_483_647 // bound in the reference's description

export const publicMembers = z.union([
  z.object({ modulus: base64Text, publicExponent: base64Text }),
  z.object({ data: base64Text }),
])

const details = {
  mechanisms,
  type: keyType.optional().meta({ description: REFERENCE }),
  algorithm: keyType.optional().meta({ description: `The same as \`type\`. ${ORIGINAL}` }),
  restrictions: restrictions.optional().meta({ description: REFERENCE }),
  public: publicMembers.optional().meta({ description: `Absent for Generic keys. ${REFERENCE}` }),
  modulus: base64Text.optional().meta({ description: `Of RSA keys. ${ORIGINAL}` }),
  publicExponent: base64Text.optional().meta({ description: `Of RSA keys. ${ORIGINAL}` }),
  operations: integer(0, OPERATIONS_DESCRIBED_MAX),
  label: label.optional().meta({ description: `Absent when empty. ${REFERENCE}` }),
}

export const key = z.object(details).meta({ id: 'Key', required: DESCRIBED.key })

export const keyPage = z
  .object({
    keys: z.array(z.object({ ...listed, ...details }).meta({ required: [...DESCRIBED.item, ...DESCRIBED.key] })),
    next: id.optional().meta({ description: 'Goes into `after` of the next page; present while there may be one.' }),
  })
  .meta({ id: 'KeyPage' })
