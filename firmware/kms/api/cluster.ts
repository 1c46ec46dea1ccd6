/**
 * `/cluster`: the members of the cluster; a standalone node reports itself. Without etcd all changes are refused, after the same checks as
 * in a cluster. Contract sections 3.6 and 4.8.
 */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { UNLOCK_USER } from '../../base/login-limiter.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import type { Member } from '../../cluster/etcd/etcd.ts'
import { expectService, MEMBERS_MAX, PEER_PORT } from '../../cluster/node/members.ts'
import { presentedPassphrase } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const URL_CHARACTERS_MAX = 1024

/** Account name of callers that show the unlock passphrase; not a user. */
const UNLOCKER = 'unlock'

/** Bound per request; no member has more. */
const URLS_MAX = 64

const peerUrl = z
  .string()
  .max(URL_CHARACTERS_MAX)
  .regex(/^https:\/\/.+/, 'not an https URL')
  .meta({ id: 'PeerURL', examples: [`https://192.168.1.1:${PEER_PORT}`] })

const joinUrl = peerUrl.refine(isPeerUrl, `not an https URL with port ${PEER_PORT}`)

const urls = (url: typeof peerUrl) => z.array(url).min(1).max(URLS_MAX)

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
  id: z.string().nullish(),
  learner: z.boolean().nullish(),
})

const join = z
  .strictObject({
    members: z.array(joiner).min(2).max(URLS_MAX).superRefine(expectOneJoiner),
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

const membersOf = ({ services }: { services: Services }) => services.appliance.cluster.members

const viewOf = ({ id, name, urls, isLearner }: Member): z.output<typeof member> => ({
  ...{ id, name, urls: [...urls] },
  learner: isLearner,
})

const listOf = (request: { services: Services }) => membersOf(request).list.map(viewOf)

const hostsOf = ({ body }: { body: z.output<typeof newUrls.schema> }) => ({
  hosts: body.urls.map((url) => (URL.canParse(url) ? new URL(url).host : '')).join(', '),
})

const prepare = (request: { services: Services }): Promise<void> => membersOf(request).refresh()

const exists = (request: Target): void => void membersOf(request).expect(request.params.member)

const NOT_AVAILABLE = 'Clustering is not available'

/** Throws `invalid` without etcd. */
const expectAvailable = ({ services }: { services: Services }): void =>
  void expectService(services.appliance.cluster.node)

/** Throws `invalid` for URLs that etcd would refuse. */
const peerUrls = ({ urls }: { urls: readonly string[] }): string[] =>
  urls.map((url) => {
    if (!isPeerUrl(url)) throw new CofferError('invalid', `urls: not an https URL with port ${PEER_PORT}`)
    return url.replace(/\/$/, '')
  })

export const clusterDeclarations = [
  declare({
    method: 'GET',
    path: '/cluster/members',
    summary: 'The members of the cluster; of a node that is alone, this node.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    prepare,
    version: (request) => JSON.stringify(listOf(request)),
    answers: { status: 200, json: z.array(member).meta({ id: 'Members' }) },
    handle: (request) => ({ status: 200, json: listOf(request) }),
  }),
  declare({
    method: 'POST',
    path: '/cluster/members',
    summary: 'Registers another member, which then joins. The first one makes this node the first member of a cluster.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    body: newUrls,
    facts: hostsOf,
    answers: { status: 201, json: memberAdd },
    errors: {
      400: NOT_AVAILABLE,
      409: `Another member is joining, has such a URL, or there are ${MEMBERS_MAX}.`,
      412: 'No backup passphrase or cluster CA is set, or the TLS certificate is not fit for members of a cluster.',
    },
    handle: async (request) => {
      const { services, caller, body } = request
      const { appliance, log } = services
      if (!appliance.backups.hasPassphrase) throw new CofferError('unavailable', 'No backup passphrase is set')
      expectAvailable(request)
      const { members, joinerKit } = await appliance.cluster.members.add(peerUrls(body))
      log.info('general', `member ${body.urls.join(', ')} registered by ${caller.userId}`)
      return { status: 201, json: { members: members.map(viewOf), joinerKit } }
    },
  }),
  declare({
    method: 'PUT',
    path: '/cluster/members/:member',
    summary: 'Changes the URLs under which the others reach a member.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    creates: true,
    prepare,
    body: newUrls,
    facts: hostsOf,
    answers: EMPTY,
    errors: {
      400: NOT_AVAILABLE,
      404: 'No such member.',
      412: 'The cluster is not in a state for it, or it is this node, whose certificate does not name that host.',
    },
    handle: async (request) => {
      exists(request) // late, because a PUT looks for its resource after its body
      expectAvailable(request)
      const { services, caller, params, body } = request
      await services.appliance.cluster.members.setUrls(params.member, peerUrls(body))
      services.log.info('general', `URLs of member ${params.member} set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/cluster/members/:member',
    summary: 'Removes a member, which is then Failed. What it has stays on its disk.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    prepare,
    exists,
    answers: EMPTY,
    errors: {
      400: `${NOT_AVAILABLE}, or it is the only member.`,
      412: 'Too few of the others would be left that run.',
    },
    handle: async (request) => {
      expectAvailable(request)
      const { services, caller, params } = request
      await services.appliance.cluster.members.remove(params.member)
      services.log.info('general', `member ${params.member} removed by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/cluster/members/:member/promote',
    summary: 'Makes a learner, which has joined, a full member.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    prepare,
    exists,
    answers: EMPTY,
    errors: { 400: NOT_AVAILABLE, 412: 'It has not caught up yet, or is no learner.' },
    handle: async (request) => {
      expectAvailable(request)
      const { services, caller, params } = request
      await services.appliance.cluster.members.promote(params.member)
      services.log.info('general', `member ${params.member} promoted by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/cluster/join',
    summary:
      'Joins the cluster of which another node has given a joiner kit. Users, namespaces and keys of this node are erased; it is Locked then, under the unlock passphrase of that node.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: { kind: 'json', schema: join },
    answers: EMPTY,
    errors: {
      400: `${NOT_AVAILABLE}, the passphrase is wrong, or the joiner kit is not of this cluster; nothing has changed.`,
      409: 'It is in a cluster already.',
      412: 'No cluster CA is set, or the TLS certificate is not fit for members of a cluster.',
    },
    handle: async (request) => {
      const { services, caller, body } = request
      try {
        const { appliance, log } = services
        if (appliance.configuration.peers.authority === null)
          throw new CofferError('unavailable', 'No cluster CA is set')
        expectAvailable(request)
        const members = body.members.map(({ name, urls }) => ({ name, urls: peerUrls({ urls }) }))
        await appliance.cluster.join({ ...body, members })
        log.info('general', `cluster joined by ${caller.userId}`)
        return { status: 204 }
      } finally {
        wipe(body.backupPassphrase)
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/cluster/force-new',
    summary:
      'Goes on as a node that is alone, with all that it has: for user `unlock` with the unlock passphrase, once the others have not answered for a minute, have removed it, or hold what it refuses.',
    states: ['Locked', 'Operational', 'Failed'],
    access: 'public',
    account: UNLOCKER,
    attemptsAs: UNLOCK_USER,
    noCache: true,
    answers: EMPTY,
    errors: { 412: 'It is in no cluster, or that has answered in the last minute and is not refused.' },
    handle: async ({ services, address, credentials }) => {
      const { appliance, log } = services
      const passphrase = defined(credentials).withSecret((bytes) => copySecret(bytes))
      try {
        const isRight = await appliance.limiter.attempt(address, UNLOCK_USER, async (place) => {
          if (appliance.audit === undefined) return null // the store is closed, so no passphrase can be verified
          try {
            await appliance.cluster.leaving.forceNew(passphrase, place)
            return true
          } catch (error) {
            if (error instanceof CofferError && error.code === 'forbidden') return null
            throw error
          }
        })
        if (isRight !== null) return { status: 204 }
      } finally {
        wipe(passphrase)
      }
      log.warning('access', `forcing a new cluster from ${address || 'inside'} failed: wrong passphrase`)
      throw new CofferError('unauthenticated', 'Wrong passphrase')
    },
  }),
]

function isPeerUrl(url: string): boolean {
  const match = /^https:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):(\d+)\/?$/.exec(url)
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
