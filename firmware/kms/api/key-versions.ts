/** `/keys/{id}/versions`: shows, adds, limits and deletes versions of a key. Contract sections 3.2 and 7.11. */

import * as z from 'zod'
import { formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import { latestOf, lowestOf, NO_LIMITS } from '../domain/version-record.ts'
import { wireTypeOf } from '../transit/key-types.ts'
import { publicMembers } from './key-schemas.ts'
import { encodePublic } from './key-view.ts'
import { anyVersionExists, type KeyTarget, keyParams } from './keys.ts'
import { integer } from './schema.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS, type Services } from './services.ts'

const VERSION_MAX = 1_000_000_000

const number = (least: number) => integer(least, VERSION_MAX)
const limits = { minDecryption: number(1), minEncryption: number(0), minAvailable: number(0), deletable: z.boolean() }

const keyVersions = z
  .object({
    latest: number(1),
    ...limits,
    versions: z.array(
      z.object({
        version: number(1),
        created: z.string().meta({ format: 'date-time' }),
        public: publicMembers.optional(),
      }),
    ),
  })
  .meta({ id: 'KeyVersions' })

const versionChange = z
  .strictObject(limits)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'at least one member is needed')
  .meta({ id: 'KeyVersionChange', examples: [{ minDecryption: 1, minEncryption: 0 }] })

const newVersion = z.object({ version: number(1) }).meta({ id: 'NewKeyVersion' })

const version = (request: KeyTarget): string | null =>
  domainOf(request).keys.recordVersion(request.caller.namespace, request.params.id)

function show(request: KeyTarget, entry: Readonly<KeyEntry>): z.infer<typeof keyVersions> {
  const versions = entry.versions ?? { ...NO_LIMITS, list: [{ created: entry.created ?? 0 }] }
  const { minDecryption, minEncryption, minAvailable, list } = versions
  const lowest = lowestOf(versions)
  const publicKeyOf = domainOf(request).keys.publicKeys(entry)
  const shown = list.map(({ created }, at) => {
    const publicKey = publicKeyOf(lowest + at)
    return {
      version: lowest + at,
      created: formatTime(created * 1000),
      ...(publicKey !== null && { public: encodePublic(publicKey) }),
    }
  })
  const deletable = entry.deletable ?? false
  return { latest: latestOf(versions), minDecryption, minEncryption, minAvailable, deletable, versions: shown }
}

const NO_KEY = 'No such key.'
const OFF_IN_CLUSTER = 'the transit API is off on this node of a cluster'

/**
 * A node of a release without versions drops them with its next change of the key. Nodes do not know each other's releases, so the switch
 * has to say that there is a use for versions. Contract section 7.11.
 */
function assertVersionsWanted({ services: { appliance } }: { services: Services }): void {
  if (appliance.replica !== null && appliance.configuration.interfaces.transit === 'off')
    throw new CofferError(
      'invalid',
      'In a cluster, versions change only while the transit API is on: update all nodes, then switch it on at this node',
    )
}

export const keyVersionDeclarations = [
  declare({
    method: 'GET',
    path: '/keys/:id/versions',
    summary: 'The versions of a key, and which of them may be used.',
    states: OPERATIONAL,
    access: READERS,
    params: keyParams,
    exists: anyVersionExists,
    version,
    answers: { status: 200, json: keyVersions },
    errors: { 400: 'Not an ID.', 404: NO_KEY },
    handle: (request) => {
      const entry = domainOf(request).keys.getAnyVersion(request.caller.namespace, request.params.id)
      return { status: 200, json: show(request, entry) }
    },
  }),
  declare({
    method: 'POST',
    path: '/keys/:id/versions',
    summary: 'Adds a version to a key, which the transit API then uses.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: anyVersionExists,
    version,
    answers: { status: 201, json: newVersion },
    errors: {
      400: `Not an ID, a key that the transit API cannot use, the key has 100 versions, or ${OFF_IN_CLUSTER}.`,
      404: NO_KEY,
    },
    handle: async (request) => {
      assertVersionsWanted(request)
      const { id } = request.params
      const { keys } = domainOf(request)
      if (wireTypeOf(keys.getAnyVersion(request.caller.namespace, id)) === undefined)
        throw new CofferError('invalid', 'Keys that the transit API cannot use have one version')
      const added = await keys.rotate(request.caller, id)
      request.services.activity.generate++
      return { status: 201, location: `/keys/${id}/versions`, json: { version: added } }
    },
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id/versions',
    summary:
      'Limits which versions of a key are used, deletes the oldest ones, or lets the transit API delete the key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: anyVersionExists,
    version,
    creates: true,
    body: { kind: 'json', schema: versionChange },
    facts: ({ body }) => Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)])),
    answers: EMPTY,
    errors: {
      400: `Not an ID, limits that do not fit each other or the versions, or ${OFF_IN_CLUSTER}.`,
      404: NO_KEY,
    },
    handle: async (request) => {
      assertVersionsWanted(request)
      await domainOf(request).keys.changeVersions(request.caller, request.params.id, request.body)
      return { status: 204 }
    },
  }),
]
