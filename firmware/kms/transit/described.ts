/** Members of bodies and answers, for the API document. The endpoints read bodies more leniently: CONTRACT.md, "Bodies". */

import * as z from 'zod'
import { HASHES } from './hash.ts'
import { WIRE_TYPES } from './key-types.ts'

interface Described {
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodObject
  /** `data` of the answer. */
  data?: z.ZodType
  /** True if the answer has `auth` and no `data`. */
  hasAuth?: boolean
  /** An answer that is not in the usual form. */
  bare?: z.ZodType
}

const text = z.string()
const base64 = z.string().meta({ contentEncoding: 'base64' })
const version = z.int().min(0).meta({ description: 'The newest if missing or 0.' })
const versioned = z
  .string()
  .meta({ description: '`vault:v`, the version, `:`, and base64.', examples: ['vault:v1:AAAA'] })
const hash = z.enum([...HASHES.keys()] as [string, ...string[]]).meta({ id: 'Hash' })
const signatureHash = z.union([hash, z.literal('none')])
const seconds = z.union([z.int(), text]).meta({ description: 'Seconds, or a text such as `1h30m`.' })
const reference = text.optional()

/** A request of one item or of many, and its answers. */
function batched<Item extends z.ZodRawShape>(item: Item, common: z.ZodRawShape = {}) {
  const many = z.array(z.object({ ...item, reference })).max(1000)
  return z.object({ ...item, ...common, batch_input: many.optional() })
}

const inBatch = (result: z.ZodRawShape) => {
  const optional = Object.fromEntries(Object.entries(result).map(([name, type]) => [name, z.optional(type)]))
  const item = z.strictObject({ ...optional, reference, error: text.optional() })
  return z.strictObject({ ...optional, batch_results: z.array(item).optional() })
}

const failureStatus = {
  partial_failure_response_code: z
    .int()
    .optional()
    .meta({ description: 'Status if an item has failed; 400 by default.' }),
}

const token = z
  .strictObject({
    id: text,
    accessor: text,
    creation_time: z.int(),
    creation_ttl: z.int(),
    display_name: text,
    entity_id: text,
    expire_time: text.nullable(),
    explicit_max_ttl: z.int(),
    issue_time: text,
    meta: z.record(text, text).nullable(),
    num_uses: z.int(),
    orphan: z.boolean(),
    path: text,
    policies: z.array(text),
    renewable: z.boolean(),
    ttl: z.int().meta({ description: 'Seconds; 0 for an access key.' }),
    type: text,
  })
  .meta({ id: 'Token' })

const publicKey = z.strictObject({
  certificate_chain: text,
  creation_time: text,
  name: text,
  public_key: text,
})

const key = z
  .strictObject({
    name: text,
    type: z.enum(WIRE_TYPES.map(({ name }) => name) as [string, ...string[]]).meta({ id: 'KeyType' }),
    keys: z
      .record(text, z.union([z.int(), publicKey]))
      .optional()
      .meta({ description: 'By version: the public key, or the time of creation.' }),
    key_size: z.int().optional(),
    latest_version: z.int(),
    min_available_version: z.int(),
    min_decryption_version: z.int(),
    min_encryption_version: z.int(),
    deletion_allowed: z.boolean(),
    derived: z.boolean(),
    kdf: text.optional(),
    convergent_encryption: z.boolean().optional(),
    exportable: z.boolean(),
    allow_plaintext_backup: z.boolean(),
    auto_rotate_period: z.int(),
    imported_key: z.boolean(),
    soft_deleted: z.boolean(),
    supports_decryption: z.boolean(),
    supports_derivation: z.boolean(),
    supports_encryption: z.boolean(),
    supports_signing: z.boolean(),
  })
  .meta({ id: 'Key' })

export const auth = z
  .strictObject({
    client_token: text,
    accessor: text,
    policies: z.array(text),
    token_policies: z.array(text),
    metadata: z.record(text, text).nullable(),
    lease_duration: z.int().meta({ description: 'Seconds; 0 for an access key.' }),
    renewable: z.boolean(),
    entity_id: text,
    token_type: text,
    orphan: z.boolean(),
    mfa_requirement: z.null(),
    num_uses: z.int(),
  })
  .meta({ id: 'Auth' })

const sealStatus = z.strictObject({
  type: text,
  initialized: z.boolean(),
  sealed: z.boolean(),
  t: z.int(),
  n: z.int(),
  progress: z.int(),
  nonce: text,
  recovery_seal: z.boolean(),
  version: text,
  commit_date: text,
  migration: z.boolean(),
  storage_type: text,
  cluster_name: text.optional(),
  cluster_id: text.optional(),
})

const status = z.int().min(200).max(599).optional().meta({ description: 'Status of the answer in this state.' })

const health = z.strictObject({
  initialized: z.boolean(),
  sealed: z.boolean(),
  standby: z.boolean(),
  replication_performance_mode: text,
  replication_dr_mode: text,
  server_time_utc: z.int(),
  version: text,
  cluster_name: text.optional(),
  cluster_id: text.optional(),
})

const create = {
  body: z.object({
    ttl: seconds.optional(),
    explicit_max_ttl: seconds.optional(),
    period: seconds.optional().meta({ description: 'Makes an access key, which does not expire.' }),
    policies: z.array(text).optional().meta({ description: 'Must include the one of the role.' }),
    num_uses: z.literal(0).optional(),
    display_name: text.optional(),
  }),
  hasAuth: true,
}

const context = base64.optional().meta({ description: 'Needed by derived keys, ignored by others.' })
const opening = { associated_data: base64.optional(), context }
const sealing = { ...opening, key_version: version.optional() }
const sealed = { ciphertext: versioned, key_version: version }
const digest = { hash_algorithm: hash.optional(), algorithm: hash.optional() }
const signing = {
  hash_algorithm: signatureHash.optional(),
  algorithm: signatureHash.optional(),
  prehashed: z.boolean().optional(),
  signature_algorithm: z.enum(['pss', 'pkcs1v15']).optional(),
  salt_length: text.optional().meta({ description: '`auto`, `hash`, or the length of the hash.' }),
  marshaling_algorithm: z.enum(['asn1', 'jws']).optional(),
}

const encoding = z.enum(['hex', 'base64']).optional()

const encrypt: Described = {
  body: batched({ plaintext: base64.optional(), ...sealing }, failureStatus),
  data: inBatch(sealed),
}
const mac: Described = {
  body: batched({ input: base64.optional(), key_version: version.optional() }, digest),
  data: inBatch({ hmac: versioned }),
}
const sign: Described = {
  body: batched({ input: base64.optional(), key_version: version.optional() }, signing),
  data: inBatch({ signature: versioned, key_version: version }),
}
const verify: Described = {
  body: batched({ input: base64.optional(), signature: versioned.optional(), hmac: versioned.optional() }, signing),
  data: inBatch({ valid: z.boolean() }),
}
const random: Described = {
  body: z.object({ bytes: z.int().min(1).max(131_072).optional(), format: encoding }),
  data: z.strictObject({ random_bytes: text }),
}
const hashed: Described = {
  body: z.object({ input: base64.optional(), algorithm: hash.optional(), format: encoding }),
  data: z.strictObject({ sum: text }),
}
const exported: Described = {
  params: z.object({ kind: z.literal('public-key') }),
  query: z.object({ format: z.enum(['raw', 'der', 'pem']).optional() }),
  data: z.strictObject({ name: text, type: text, keys: z.record(text, text) }),
}

/** By method and path of the declaration. */
export const DESCRIBED: Readonly<Record<string, Described>> = {
  'GET /v1/sys/health': {
    query: z.object({ activecode: status, sealedcode: status, uninitcode: status }),
    bare: health,
  },
  'GET /v1/sys/seal-status': { bare: sealStatus },
  'GET /v1/sys/init': { bare: z.strictObject({ initialized: z.boolean() }) },
  'GET /v1/sys/leader': { bare: z.strictObject({ ha_enabled: z.boolean() }) },
  'GET /v1/sys/mounts': { data: z.record(text, z.looseObject({})) },
  'GET /v1/sys/internal/ui/mounts/:mount': { data: z.looseObject({}) },
  'POST /v1/sys/capabilities-self': {
    body: z.object({ path: z.union([text, z.array(text)]).optional(), paths: z.array(text).max(1000).optional() }),
    data: z.record(text, z.array(text)),
  },
  'POST /v1/auth/userpass/login/:user': { body: z.object({ password: text }), hasAuth: true },
  'POST /v1/auth/approle/login': { body: z.object({ role_id: text, secret_id: text }), hasAuth: true },
  'GET /v1/auth/token/lookup-self': { data: token },
  'POST /v1/auth/token/lookup': { body: z.object({ token: text }), data: token },
  'POST /v1/auth/token/renew-self': { body: z.object({}), hasAuth: true },
  'POST /v1/auth/token/revoke-self': { body: z.object({}) },
  'POST /v1/auth/token/create': create,
  'POST /v1/auth/token/create-orphan': create,
  'LIST /v1/transit/keys': {
    query: z.object({ list: z.literal('true'), after: text.optional(), limit: z.int().min(0).optional() }),
    data: z.strictObject({ keys: z.array(text) }),
  },
  'GET /v1/transit/keys/:name': { data: key },
  'POST /v1/transit/keys/:name': {
    body: z.object({
      type: key.shape.type.optional(),
      key_size: z.int().min(32).max(512).optional(),
      derived: z.boolean().optional().meta({ description: 'Each message then needs a context.' }),
    }),
    data: key,
  },
  'DELETE /v1/transit/keys/:name': {},
  'POST /v1/transit/keys/:name/config': {
    body: z.object({
      deletion_allowed: z.boolean().optional(),
      min_decryption_version: z.int().min(0).optional(),
      min_encryption_version: z.int().min(0).optional(),
    }),
    data: key,
  },
  'POST /v1/transit/keys/:name/rotate': { body: z.object({}), data: key },
  'POST /v1/transit/keys/:name/trim': { body: z.object({ min_available_version: z.int().min(1) }), data: key },
  'POST /v1/transit/encrypt/:name': encrypt,
  'POST /v1/transit/decrypt/:name': {
    body: batched({ ciphertext: versioned.optional(), ...opening }, failureStatus),
    data: inBatch({ plaintext: base64 }),
  },
  'POST /v1/transit/rewrap/:name': {
    body: batched({ ciphertext: versioned.optional(), ...sealing }),
    data: inBatch(sealed),
  },
  'POST /v1/transit/datakey/:kind/:name': {
    params: z.object({ kind: z.enum(['plaintext', 'wrapped']) }),
    body: z.object({ bits: z.union([z.literal(128), z.literal(256), z.literal(512)]).optional(), ...sealing }),
    data: z.strictObject({ ...sealed, plaintext: base64.optional() }),
  },
  'POST /v1/transit/hmac/:name': mac,
  'POST /v1/transit/hmac/:name/:hash': mac,
  'POST /v1/transit/sign/:name': sign,
  'POST /v1/transit/sign/:name/:hash': sign,
  'POST /v1/transit/verify/:name': verify,
  'POST /v1/transit/verify/:name/:hash': verify,
  'GET /v1/transit/export/:kind/:name': exported,
  'GET /v1/transit/export/:kind/:name/:version': exported,
  'POST /v1/transit/random': random,
  'POST /v1/transit/random/:source': random,
  'POST /v1/transit/random/:source/:bytes': random,
  'POST /v1/transit/hash': hashed,
  'POST /v1/transit/hash/:algorithm': hashed,
}
