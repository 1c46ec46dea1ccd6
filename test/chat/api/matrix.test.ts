/**
 * Who may call what, of every route there is: made from the contract's tables (section 3, columns "Method and path" and Who)
 * and from the declarations. What a caller may do with whom is tested per row.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DECLARATIONS, OTHER_DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import type { Who } from '../../../firmware/chat/pipeline/declaration.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { addUser } from '../../../firmware/chat/realm/organization/users/change.ts'
import { type Endpoint, endpointName } from '../../../firmware/http/endpoint/endpoint.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

interface Row {
  row: string
  who: string
  routes: { method: string; path: string }[]
}

const page = readFileSync(new URL('../../../firmware/chat/CONTRACT.md', import.meta.url), 'utf8')
const ROWS: Row[] = page
  .split('\n')
  .filter((line) => /^\| E\d+ \|/.test(line))
  .map((line) => {
    const [, row, , paths, who] = line.split('|').map((cell) => cell.trim())
    return { row: row!, who: who!, routes: routesOf(paths!) }
  })

/** `GET, POST /a; DELETE /a/{id} (12)` */
function routesOf(cell: string): Row['routes'] {
  return cell.split(';').flatMap((part) => {
    const methods = part.match(/\b(GET|POST|PATCH|PUT|DELETE)\b/g) ?? []
    const paths = part.match(/\/[a-z][a-z0-9_/{}]*/g) ?? []
    return paths.flatMap((path) => methods.map((method) => ({ method, path: path.replace(/\{\w+\}/g, ':') })))
  })
}

const all = [...DECLARATIONS, ...OTHER_DECLARATIONS]
const plain = (path: string): string => path.replace(/:\w+/g, ':')

test('each row of the contract is there, on each of its paths', () => {
  assert.ok(ROWS.length > 140)
  for (const { row, who, routes } of ROWS) {
    if (who.startsWith('service')) continue // outgoing requests
    assert.ok(routes.length > 0, row)
    for (const { method, path } of routes) {
      const found = DECLARATIONS.some((one) => one.method === method && plain(one.path) === path)
      assert.ok(found, `${row}: ${method} ${path}`)
    }
  }
})

const rowsOf = (endpoint: Endpoint): Row[] =>
  ROWS.filter(({ routes }) =>
    routes.some(({ method, path }) => method === endpoint.method && path === plain(endpoint.path)),
  )

test('each endpoint is of a row of the contract', () => {
  for (const one of DECLARATIONS) assert.ok(rowsOf(one).length > 0, endpointName(one))
})

test('endpoints that the contract leaves out (section 12) are not there', () => {
  const left = page.slice(page.search(/^## 12\./m)).match(/`[A-Z]+ \/[^`]+`/g) ?? []
  assert.ok(left.length > 0)
  for (const { method, path } of left.flatMap(routesOf))
    assert.ok(!all.some((one) => one.method === method && plain(one.path) === path), `${method} ${path}`)
})

/** Outside the base path: contract section 1.1. */
const FILES = [
  'GET /static/emoji.json',
  'GET /static/generated/emoji/images/emoji/unicode/zulip.png',
  'GET /static/images/default-icon.png',
  'GET /static/logo.svg',
  'GET /user_avatars/:realm_id/:file',
  'GET /user_avatars/:realm_id/emoji/images/:file',
  'GET /user_avatars/:realm_id/emoji/images/still/:file',
  'GET /user_avatars/:realm_id/realm/:file',
  'GET /user_uploads/:realm_id_str/:spread/:secret/:filename',
  'GET /user_uploads/download/:realm_id_str/:spread/:secret/:filename',
  'GET /user_uploads/temporary/:terms/:mac/:realm_id_str/:spread/:secret/:filename',
]

test('of files there are these and no others', () => {
  assert.deepEqual(OTHER_DECLARATIONS.map(endpointName).sort(), FILES)
})

/** Endpoints whose callers a rule of the contract names, or that differ by method within a row. */
const BY_ENDPOINT: Readonly<Record<string, Who>> = {
  'POST /messages': 'sender', // also for bots that can do nothing else
  'POST /external/:integration': 'webhook',
  'DELETE /user_groups/:user_group_id': 'account', // as its deactivation
  'GET /user_groups/:user_group_id/members': 'member',
  'POST /user_groups/:user_group_id/members': 'account',
  'GET /user_groups/:user_group_id/subgroups': 'member',
  'POST /user_groups/:user_group_id/subgroups': 'account',
  'GET /realm/profile_fields': 'account',
  'POST /realm/profile_fields': 'administrator',
  'PATCH /realm/profile_fields': 'administrator',
  'PATCH /realm/profile_fields/:field_id': 'administrator',
  'DELETE /realm/profile_fields/:field_id': 'administrator',
}

/** Translates the column Who of a row. A right that a rule decides allows all who can have it. */
function declarable(who: string): readonly Who[] {
  if (who.startsWith('—')) return ['nobody']
  if (/^A\b/.test(who)) return ['account', 'anyone']
  if (/^U\b/.test(who)) return ['human']
  if (/^M\b/.test(who)) return ['member']
  if (/^Adm\b/.test(who)) return ['administrator']
  if (/^Own\b/.test(who)) return ['owner']
  return ['account', 'human', 'member']
}

test('endpoints with exact callers exist', () => {
  const names = DECLARATIONS.map(endpointName)
  for (const name of Object.keys(BY_ENDPOINT)) assert.ok(names.includes(name), name)
})

for (const one of DECLARATIONS)
  test(`${endpointName(one)} is declared for the callers of the contract`, () => {
    const exact = BY_ENDPOINT[endpointName(one)]
    for (const row of rowsOf(one)) {
      const expected = exact === undefined ? declarable(row.who) : [exact]
      assert.ok(expected.includes(one.who), `${row.row}: ${one.who} instead of ${expected.join(' or ')}`)
    }
  })

type Caller = 'nobody' | 'guest' | 'member' | 'moderator' | 'administrator' | 'owner' | 'bot'
const EVERYBODY: readonly Caller[] = ['nobody', 'guest', 'member', 'moderator', 'administrator', 'owner', 'bot']
const ADMITTED: Readonly<Record<Who, readonly Caller[]>> = {
  nobody: EVERYBODY,
  anyone: EVERYBODY,
  sender: EVERYBODY.slice(1),
  webhook: [], // nobody by a header
  account: EVERYBODY.slice(1),
  human: ['guest', 'member', 'moderator', 'administrator', 'owner'],
  member: ['member', 'moderator', 'administrator', 'owner', 'bot'],
  moderator: ['moderator', 'administrator', 'owner'],
  administrator: ['administrator', 'owner'],
  owner: ['owner'],
}

// Admitted callers reach a handler that changes nothing and needs no parameter.
for (const one of all) Object.assign(one, { handle: () => ({}), parameters: {}, segments: {}, audit: undefined })
const { rig, ...accounts } = await chatSuite({
  guest: 'guest',
  member: 'member',
  moderator: 'moderator',
  administrator: 'administrator',
})
const OF_BOTS = { type: 1, ownerId: 1, defaultSendingStreamId: null, defaultEventsRegisterStreamId: null } as const
const bot = rig.chat.realm.transaction((turn) =>
  addUser(rig.chat.realm, turn, {
    email: 'robot-bot@coffer.invalid',
    fullName: 'Robot',
    role: ROLES.member,
    bot: { ...OF_BOTS, defaultAllPublicStreams: false },
  }),
)
const clients: Record<Caller, Client | null> = { ...accounts, nobody: null, owner: rig.owner, bot: rig.clientOf(bot) }

for (const [base, list] of [
  ['/api/v1', DECLARATIONS],
  ['', OTHER_DECLARATIONS],
] as const)
  for (const { method, path, who } of list)
    test(`${method} ${base}${path} lets in ${who}`, async () => {
      for (const caller of EVERYBODY) {
        const client = clients[caller]
        const credentials = `Basic ${Buffer.from(`${client?.user.email}:${client?.key}`).toString('base64')}`
        const headers = { host: 'chat.example', ...(client && { authorization: credentials }) }
        const url = `http://chat.example${base}${path.replace(/:\w+/g, '1')}`
        const { status } = await rig.chat.api.request(url, { method, headers })
        const refused = caller === 'nobody' && who !== 'webhook' ? 401 : 400
        assert.equal(status, ADMITTED[who].includes(caller) ? 200 : refused, caller)
        // No level lets in anybody else.
        const old = await rig.chat.api.request(url, {
          method,
          headers: { ...headers, 'x-service-feature-level': '102' },
        })
        assert.ok(old.status === status || old.status === 404, `${caller} of level 102: ${old.status}`)
      }
    })
