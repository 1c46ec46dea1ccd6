/**
 * `/cluster`: this release is one node, which tells its own membership and refuses every change of it, after the checks
 * that a cluster would make, too. Contract sections 3.6 and 4.8.
 */

import { createHash } from 'node:crypto'
import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Access } from '../pipeline/endpoint.ts'
import { presentedPassphrase } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const PEER_PORT = 2380 // contract section 3.6
const URL_CHARACTERS_MAX = 1024
const MEMBER_ID_BYTES = 8

/** A join that would reach more members is none. */
const MEMBERS_MAX = 64

const peerUrl = z
  .string()
  .max(URL_CHARACTERS_MAX)
  .regex(/^https:\/\/.+/, 'not an https URL')
  .meta({ id: 'PeerURL', examples: [`https://192.168.1.1:${PEER_PORT}`] })

const joinUrl = peerUrl.refine(isPeerUrl, `not an https URL with port ${PEER_PORT}`)

const urls = (url: typeof peerUrl) => z.array(url).min(1).max(MEMBERS_MAX)

const memberId = z
  .string()
  .regex(/^[0-9a-f]{1,16}$/, 'not a member ID')
  .meta({ id: 'MemberID', description: 'A 64-bit number in lowercase hex.', examples: ['8e9e05c52164694d'] })

const member = z
  .object({
    id: memberId,
    name: z.string().meta({ description: 'Empty until the member has joined.' }),
    urls: z.array(peerUrl),
    learner: z.boolean(),
  })
  .meta({ id: 'Member' })

const joiner = z.strictObject({
  name: z.string(),
  urls: urls(joinUrl),
  id: z.string().optional(),
  learner: z.boolean().optional(),
})

const join = z
  .strictObject({
    members: z.array(joiner).min(2).max(MEMBERS_MAX).superRefine(expectOneJoiner),
    joinerKit: z.string().meta({ description: 'As given when the member was added.' }),
    backupPassphrase: presentedPassphrase,
  })
  .meta({
    id: 'Join',
    examples: [
      {
        members: [
          { name: 'first', urls: [`https://192.168.1.1:${PEER_PORT}`] },
          { name: '', urls: [`https://192.168.1.2:${PEER_PORT}`] },
        ],
        joinerKit: 'AAAA',
        backupPassphrase: 'words that open a backup',
      },
    ],
  })

const memberAdd = z.object({ members: z.array(member), joinerKit: z.string() }).meta({ id: 'MemberAdd' })

const newUrls = {
  kind: 'json',
  schema: z.strictObject({ urls: urls(peerUrl) }).meta({ examples: [{ urls: [`https://192.168.1.2:${PEER_PORT}`] }] }),
} as const

const params = z.object({ member: memberId })

type Target = { services: Services; params: z.output<typeof params> }

const exists = ({ services, params }: Target): void => {
  if (params.member.padStart(2 * MEMBER_ID_BYTES, '0') !== ownId(services))
    throw new CofferError('notFound', 'No such member')
}

const NOT_AVAILABLE = 'Clustering is not available'

function refuse(): never {
  throw new CofferError('invalid', 'Clustering is not available in this release')
}

/** The one account of a Failed node, with the unlock passphrase; no role has it. */
const UNLOCKER: Access = { roles: [], scope: 'root' }

export const clusterDeclarations = [
  declare({
    method: 'GET',
    path: '/cluster/members',
    summary: 'The members of the cluster: this node alone.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ({ services }) => JSON.stringify(members(services)),
    answers: { status: 200, json: z.array(member).meta({ id: 'Members' }) },
    handle: ({ services }) => ({ status: 200, json: members(services) }),
  }),
  declare({
    method: 'POST',
    path: '/cluster/members',
    summary: 'Would register another member. There is no clustering in this release.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    body: newUrls,
    answers: { status: 201, json: memberAdd },
    errors: { 400: NOT_AVAILABLE, 412: 'No backup passphrase is set.' },
    handle: ({ services }) => {
      if (!services.appliance.backups.hasPassphrase) throw new CofferError('unavailable', 'No backup passphrase is set')
      return refuse()
    },
  }),
  declare({
    method: 'PUT',
    path: '/cluster/members/:member',
    summary: 'Would change the URLs of a member. There is no clustering in this release.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    creates: true,
    body: newUrls,
    answers: EMPTY,
    errors: { 400: NOT_AVAILABLE, 404: 'No such member.' },
    handle: (request) => {
      exists(request) // only now: a PUT looks for its resource after its body
      return refuse()
    },
  }),
  declare({
    method: 'DELETE',
    path: '/cluster/members/:member',
    summary: 'Would remove a member. There is no clustering in this release.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    exists,
    answers: EMPTY,
    errors: { 400: NOT_AVAILABLE },
    handle: refuse,
  }),
  declare({
    method: 'POST',
    path: '/cluster/members/:member/promote',
    summary: 'Would make a learner a full member. There is no clustering in this release.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    exists,
    answers: EMPTY,
    errors: { 400: NOT_AVAILABLE },
    handle: refuse,
  }),
  declare({
    method: 'POST',
    path: '/cluster/join',
    summary: 'Would join another cluster. There is no clustering in this release.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: { kind: 'json', schema: join },
    answers: EMPTY,
    errors: { 400: NOT_AVAILABLE, 412: 'No cluster CA is set.' },
    handle: ({ services, body }) => {
      wipe(body.backupPassphrase)
      if (services.appliance.configuration.tls.clusterCa === null)
        throw new CofferError('unavailable', 'No cluster CA is set')
      return refuse()
    },
  }),
  declare({
    method: 'POST',
    path: '/cluster/force-new',
    summary:
      'Would restart a failed member as a node of its own, for user `unlock`. This node is one: 401, see reboot.',
    states: ['Failed'],
    access: UNLOCKER,
    noCache: true,
    answers: EMPTY,
    handle: refuse,
  }),
]

/** Stable like the device id it is made from. */
const ownId = ({ appliance }: Services): string =>
  createHash('sha256')
    .update(`cluster member ${appliance.deviceId}`)
    .digest('hex')
    .slice(0, 2 * MEMBER_ID_BYTES)

function members(services: Services): z.output<typeof member>[] {
  const { deviceId, configuration } = services.appliance
  const urls = [`https://${configuration.network.ipAddress}:${PEER_PORT}`]
  return [{ id: ownId(services), name: deviceId, urls, learner: false }]
}

/** Host and port and nothing more. */
function isPeerUrl(url: string): boolean {
  const match = /^https:\/\/[^/?#@\s]+:(\d+)\/?$/.exec(url)
  return match !== null && Number(match[1]) === PEER_PORT && URL.canParse(url)
}

function expectOneJoiner(members: readonly z.output<typeof joiner>[], context: z.RefinementCtx): void {
  const names = members.map(({ name }) => name)
  const urls = members.flatMap(({ urls }) => urls)
  const complain = (message: string) => context.addIssue({ code: 'custom', message })
  if (new Set(names).size < names.length) complain('two members of one name')
  else if (!names.includes('')) complain('one member has the empty name: the one that joins')
  if (new Set(urls).size < urls.length) complain('one URL twice')
}
