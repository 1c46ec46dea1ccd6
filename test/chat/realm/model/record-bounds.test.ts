/** Every row of contract section 9.1 at its bound: the last record is made, one more is refused and changes nothing. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it, test } from 'node:test'
import { emojiNames } from '../../../../firmware/chat/data/emoji.ts'
import type { MutableCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import { KINDS, type RecordKind, type RecordOf } from '../../../../firmware/chat/realm/model/kinds.ts'
import { BOUNDS, type Bound, type Fixed } from '../../../../firmware/chat/realm/model/record-bounds.ts'
import { png } from '../../../../firmware/chat/realm/objects/avatar-png.ts'
import { openSession, requestsOf } from '../../page/requests.ts'
import type { Answer, Client } from '../../support/chat.ts'
import { newBrowser, PUSH_HOST } from '../../support/push.ts'
import { chatSuite } from '../../support/suite.ts'

const { rig, maker, other } = await chatSuite(
  { maker: 'member', other: 'member' },
  { webPush: () => ({ hosts: [PUSH_HOST], contact: 'mailto:operator@example.org', content: false }) },
)
const { owner } = rig
const { realm } = rig.chat
const common = rig.channel('common', [maker])
let bot: Client
let messageId: number
before(async () => {
  const { user_id } = await maker.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  bot = rig.clientOf(realm.state.user.get(user_id)!)
  messageId = (await maker.post('/messages', { type: 'stream', to: common.id, topic: 't', content: 'x' })).id
})

interface Row<T> {
  ask: (client: Client, n: number) => Promise<Answer>
  /** By default a member; null: one that has no bound of its own. */
  by?: Client
  askOrganization?: (n: number) => Promise<Answer>
  copy: (record: T, n: number) => T
  /** Makes it another account's, or nobody's. */
  disown?: (record: T, n: number) => T
  grown?: (record: T, size: number) => T
  isAccepted?: (answer: Answer) => boolean
  /** The refusal at the organization's bound where the request has its own words for it. */
  refusal?: string
}

const PICTURE = png(20, [[200, 0, 0]], () => new Uint8Array(20))

const FAR = 1_000_000
const text = (size: number): string => 'x'.repeat(size)
const withId = <T extends { id: number }>(record: T, n: number): T => ({ ...record, id: FAR + n })
const ofAnother = <T extends { userId: number }>(record: T, n: number): T => ({ ...record, userId: FAR + n })
const later = () => Math.floor(rig.now() / 1000) + 3600
const post = (path: string, values: (n: number) => Record<string, unknown>) => (client: Client, n: number) =>
  client.call('POST', path, values(n))

const ROWS: { readonly [K in RecordKind]?: Row<RecordOf<K>> } = {
  user: {
    ask: post('/bots', (n) => ({ full_name: `Bot ${n}`, short_name: `b${n}` })),
    askOrganization: (n) =>
      owner.call('POST', '/users', { email: `n${n}@example.org`, full_name: `New ${n}`, password: 'long enough' }),
    copy: (user, n) => ({ ...withId(user, n), email: `${n}@c.example`, deliveryEmail: `${n}@c.example` }),
    disown: (user) => ({ ...user, bot: null }),
    grown: (user, size) => ({ ...user, profileData: { 1: { value: text(size), html: null } } }),
  },
  group: {
    ask: post('/user_groups/create', (n) => ({ name: `g${n}`, description: 'd', members: [] })),
    copy: (group, n) => ({ ...withId(group, n), name: `copy ${n}` }),
    disown: (group) => ({ ...group, creatorId: null }),
    grown: (group, size) => ({ ...group, description: text(size - 2), members: [], subgroups: [], groupSettings: {} }),
  },
  invitation: {
    ask: post('/invites', (n) => ({ invitee_emails: `i${n}@example.org`, stream_ids: [] })),
    copy: (one, n) => ({ ...withId(one, n), hash: `hash ${n}`, email: `c${n}@example.org` }),
    disown: (one) => ({ ...one, inviterId: FAR }),
    refusal: 'More than 3000 invitations would be open.',
  },
  channel: {
    ask: post('/channels/create', (n) => ({ name: `c${n}`, description: 'd', subscribers: [] })),
    copy: (channel, n) => ({ ...withId(channel, n), recipientId: FAR + n, name: `copy ${n}` }),
    disown: (channel) => ({ ...channel, creatorId: null }),
    grown: (channel, size) => ({
      ...channel,
      description: text(size - 2),
      renderedDescription: '',
      groupSettings: {},
    }),
  },
  channelFolder: {
    by: owner,
    ask: post('/channel_folders/create', (n) => ({ name: `f${n}`, description: 'd' })),
    copy: (folder, n) => ({ ...withId(folder, n), name: `copy ${n}` }),
    grown: (folder, size) => ({ ...folder, description: text(size), renderedDescription: '' }),
  },
  defaultChannelGroup: {
    by: owner,
    ask: post('/default_stream_groups/create', (n) => ({
      group_name: `d${n}`,
      description: '',
      stream_names: ['common'],
    })),
    copy: (group, n) => ({ ...withId(group, n), name: `copy ${n}` }),
    grown: (group, size) => ({ ...group, channelIds: Array.from({ length: size }, () => common.id) }),
  },
  subscription: {
    ask: (client, n) =>
      client.call('POST', '/users/me/subscriptions', {
        subscriptions: [{ name: 'common' }],
        principals: [rig.account(`subscriber${client.user.id}x${n}`).user.id],
        send_new_subscription_messages: false,
      }),
    copy: (subscription, n) => ({ ...subscription, userId: FAR + n, isActive: false }),
    disown: (subscription, n) => ({ ...subscription, by: FAR + n }),
  },
  conversation: {
    ask: (client, n) =>
      client.call('POST', '/messages', {
        type: 'direct',
        to: [rig.account(`talker${client.user.id}x${n}`).user.id],
        content: 'x',
      }),
    copy: (conversation, n) => ({ ...conversation, recipientId: FAR + n, userIds: [FAR + n, FAR + n + 1] }),
    disown: ({ creatorId: _, ...conversation }) => conversation,
    grown: (conversation, size) => ({ ...conversation, userIds: Array.from({ length: size }, (_, n) => FAR + n) }),
  },
  userTopic: {
    ask: post('/user_topics', (n) => ({ stream_id: common.id, topic: `t${n}`, visibility_policy: 3 })),
    copy: (topic, n) => ({ ...topic, topicName: `copy ${n}` }),
    disown: ofAnother,
  },
  alertWords: {
    ask: post('/users/me/alert_words', (n) => ({ alert_words: [`w${n}`] })),
    copy: (record) => record,
    disown: ofAnother,
    grown: (record, size) => ({ ...record, value: Array.from({ length: size }, (_, n) => `word ${n}`) }),
  },
  mutedUsers: {
    ask: (client, n) =>
      client.call('POST', `/users/me/muted_users/${rig.account(`muted${client.user.id}x${n}`).user.id}`),
    copy: (record) => record,
    disown: ofAnother,
    grown: (record, size) => ({
      ...record,
      value: Array.from({ length: size }, (_, id) => ({ id: FAR + id, timestamp: 0 })),
    }),
  },
  realmExport: {
    by: owner,
    ask: (client) => {
      rig.advance(8 * 86_400) // five a week are asked for
      return client.call('POST', '/export/realm', { export_type: 'public' })
    },
    copy: (one, n) => ({ ...withId(one, n), time: 0, deleted: 0 }),
  },
  realmEmoji: {
    ask: (client, n) => client.upload('POST', `/realm/emoji/e${n}`, PICTURE),
    copy: (emoji, n) => ({ ...withId(emoji, n), name: `copy${n}` }),
    disown: (emoji) => ({ ...emoji, authorId: null }),
  },
  draft: {
    ask: post('/drafts', (n) => ({ drafts: [{ type: '', to: [], topic: '', content: `d${n}` }] })),
    copy: withId,
    disown: ofAnother,
    grown: (draft, size) => ({ ...draft, content: text(size), to: [] }),
  },
  scheduledMessage: {
    ask: post('/scheduled_messages', (n) => ({
      type: 'stream',
      to: common.id,
      topic: 't',
      content: `s${n}`,
      scheduled_delivery_timestamp: later(),
    })),
    copy: (message, n) => ({ ...withId(message, n), time: Number.MAX_SAFE_INTEGER }),
    disown: ofAnother,
    grown: (message, size) => ({ ...message, content: text(size), html: '' }),
  },
  reminder: {
    ask: post('/reminders', () => ({ message_id: messageId, scheduled_delivery_timestamp: later() })),
    copy: (reminder, n) => ({ ...withId(reminder, n), time: Number.MAX_SAFE_INTEGER, content: '', html: '' }),
    disown: ofAnother,
    grown: (reminder, size) => ({ ...reminder, content: text(size), html: '', note: '' }),
  },
  savedSnippet: {
    ask: post('/saved_snippets', (n) => ({ title: `s${n}`, content: 'x' })),
    copy: withId,
    disown: ofAnother,
    grown: (snippet, size) => ({ ...snippet, content: text(size) }),
  },
  navigationView: {
    ask: post('/navigation_views', (n) => ({ fragment: `f${n}`, is_pinned: true, name: `n${n}` })),
    copy: (view, n) => ({ ...view, fragment: `copy ${n}`, name: `copy ${n}` }),
    disown: ofAnother,
  },
  linkifier: {
    by: owner,
    ask: post('/realm/filters', (n) => ({ pattern: `L${n}-(?P<id>[0-9]+)`, url_template: 'https://l.example/{id}' })),
    copy: (linkifier, n) => ({ ...withId(linkifier, n), pattern: `C${n}-(?P<id>[0-9]+)` }),
  },
  playground: {
    by: owner,
    ask: post('/realm/playgrounds', (n) => ({
      name: `p${n}`,
      pygments_language: 'Python',
      url_template: 'https://p.example/{code}',
    })),
    copy: (playground, n) => ({ ...withId(playground, n), name: `copy ${n}` }),
  },
  realmDomain: {
    by: owner,
    ask: post('/realm/domains', (n) => ({ domain: `d${n}.example`, allow_subdomains: false })),
    copy: (domain, n) => ({ ...withId(domain, n), domain: `copy${n}.example` }),
  },
  profileField: {
    by: owner,
    ask: post('/realm/profile_fields', (n) => ({
      name: `f${n}`,
      field_type: 3,
      field_data: { 0: { text: 'a', order: '1' } },
    })),
    copy: (field, n) => ({ ...withId(field, n), name: `copy ${n}` }),
    grown: (field, size) => ({ ...field, fieldData: text(size) }),
  },
  pushToken: {
    ask: post('/users/me/android_gcm_reg_id', (n) => ({ token: `t${n}` })),
    copy: (token, n) => ({ ...token, token: `copy ${n}` }),
    disown: ofAnother,
    grown: (token, size) => ({ ...token, token: text(size) }),
  },
  pushDevice: {
    ask: post('/mobile_push/register', (n) => ({
      token_kind: 'fcm',
      push_account_id: n,
      push_key: 'AAAA',
      bouncer_public_key: 'AAAA',
      encrypted_push_registration: 'AAAA',
    })),
    copy: (device, n) => ({ ...device, accountId: FAR + n }),
    disown: ofAnother,
    grown: (device, size) => ({ ...device, pushKey: '', bouncerPublicKey: '', registration: text(size) }),
    isAccepted: ({ body }) => body.code === 'PUSH_SERVICE_NOT_CONFIGURED',
  },
  clientDevice: {
    ask: (client) => client.call('POST', '/register_client_device'),
    copy: withId,
    disown: ofAnother,
    grown: (device, size) => ({
      ...device,
      registration: { tokenKind: 'fcm', tokenId: '', bouncerPublicKey: '', sealed: text(size - 100), time: 0 },
    }),
  },
  webPush: {
    ask: async (client, n) =>
      requestsOf(rig)('POST', '/web_push', {
        cookie: await openSession(rig, client),
        values: newBrowser(`/${n}`).subscription,
      }),
    copy: (one, n) => ({ ...one, keyId: FAR + n, endpoint: `${one.endpoint}/copy/${n}` }),
    disown: ofAnother,
    grown: (one, size) => ({ ...one, endpoint: text(size - one.p256dh.length - one.auth.length) }),
  },
  botStorage: {
    get by() {
      return bot
    },
    ask: (client, n) => client.call('PUT', '/bot_storage', { storage: { [`k${n}`]: 'v' } }),
    copy: (entry, n) => ({ ...entry, name: `copy ${n}` }),
    disown: ofAnother,
    grown: (entry, size) => ({ ...entry, name: '', value: text(size) }),
  },
}

const kinds = Object.keys(BOUNDS) as RecordKind[]
const isFixed = (bound: object): bound is Fixed => 'why' in bound
const bounded = kinds.filter((kind) => !isFixed(BOUNDS[kind]))

let asked = 0

/** Records that are only in memory, as if they had been there. Returns what removes them. */
function fill(kind: RecordKind, records: Iterable<unknown>): { drop(): void; dropOne(): void } {
  const collection = realm.state[kind] as unknown as MutableCollection<unknown>
  const keys = Array.from(records, (record) => {
    const key = (KINDS[kind] as (record: unknown) => number | string)(record)
    collection.set(key, record)
    return key
  })
  return {
    drop: () => {
      for (const key of keys.splice(0)) collection.set(key, undefined)
    },
    dropOne: () => void collection.set(keys.pop()!, undefined),
  }
}

for (const kind of bounded) {
  const bound = BOUNDS[kind] as Bound<never>
  const row = ROWS[kind] as unknown as Row<never>
  const collection = realm.state[kind]
  const disown: Copy = row.disown ?? ((same) => same)
  const isAccepted = row.isAccepted ?? (({ status }: Answer) => status === 200)
  const accept = async (ask: (n: number) => Promise<Answer>): Promise<void> => {
    const answer = await ask(++asked)
    assert.ok(isAccepted(answer), JSON.stringify(answer.body))
  }
  const refuse = async (ask: (n: number) => Promise<Answer>, words: string): Promise<void> => {
    const before = collection.size
    const { status, body } = await ask(++asked)
    assert.deepEqual([status, body.msg], [400, words])
    assert.equal(collection.size, before, 'nothing was made')
  }
  const byClient = (n: number) => row.ask(row.by ?? maker, n)
  const made = async (): Promise<never> => {
    await accept(byClient)
    return [...collection.all()].at(-1) as never
  }
  const own = (record: never): number => [...collection.all()].filter((one) => isOwn(one as never, record)).length
  const isOwn = (one: never, record: never): boolean =>
    bound.accountOf !== undefined && ownerOf(bound.accountOf(one)) === ownerOf(bound.accountOf(record))
  const ownerOf = (account: number | null) => realm.state.user.get(account ?? 0)?.bot?.ownerId ?? account

  describe(`9.1: ${kind}`, () => {
    const { account, organization, size } = bound
    if (account !== undefined)
      it(`an account has at most ${account}`, async () => {
        const record = await made()
        const filled = fill(kind, copies(record, account - 1 - own(record), row.copy))
        try {
          await accept(byClient)
          await refuse(byClient, `More than ${account} ${bound.of}`)
          filled.dropOne()
          await accept(byClient)
        } finally {
          filled.drop()
        }
      })
    if (organization !== undefined)
      it(`the organization has at most ${organization}`, async () => {
        const record = await made()
        const ask = row.askOrganization ?? byClient
        const disowned: Copy = (one, n) => disown(row.copy(one, n), n)
        const filled = fill(kind, copies(record, organization - 1 - collection.size, disowned))
        try {
          await accept(ask)
          await refuse(
            ask,
            row.refusal ?? `More than ${organization} ${bound.ofOrganization ?? bound.of} in the organization`,
          )
          filled.dropOne()
          await accept(ask)
        } finally {
          filled.drop()
        }
      })
    if (size?.account !== undefined)
      it(`an account has at most ${size.account} ${size.of}`, async () => {
        const record = await made()
        const has = [...collection.all()].reduce(
          (sum, one) => sum + (isOwn(one as never, record) ? size.sizeOf(one as never) : 0),
          0,
        )
        const replaced = row.copy(record, 0) === record ? size.sizeOf(record) : 0
        const filled = fill(kind, [row.grown!(row.copy(record, 0), size.account! - has + replaced)])
        try {
          await refuse(byClient, `More than ${size.account} ${size.of}`)
        } finally {
          filled.drop()
        }
        await accept(byClient)
      })
    if (size !== undefined && kind !== 'user')
      it(`the organization has at most ${size.organization} ${size.of}`, async () => {
        const record = await made()
        const has = [...collection.all()].reduce((sum, one) => sum + size.sizeOf(one as never), 0)
        const grown = row.grown!(disown(row.copy(record, 0), 0), size.organization - has)
        const filled = fill(kind, [grown])
        try {
          await refuse(byClient, `More than ${size.organization} ${size.of} in the organization`)
        } finally {
          filled.drop()
        }
        await accept(byClient)
      })
  })
}

type Copy = (record: never, n: number) => never

function* copies(record: never, count: number, copy: Copy): Generator<never> {
  for (let n = 1; n <= count; n++) yield copy(record, n)
}

test('9.1: every kind of record that can be made has a row here, and its bounds stand in the contract', () => {
  assert.deepEqual(Object.keys(ROWS).sort(), [...bounded].sort())
  const contract = readFileSync(new URL('../../../../firmware/chat/CONTRACT.md', import.meta.url), 'utf8')
  const rows = new Map(
    [...contract.matchAll(/^\| ([^|]+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$/gm)].map(([, of, ...rest]) => [of, rest]),
  )
  const number = (value: number | undefined) => (value === undefined ? '—' : value.toLocaleString('en'))
  for (const kind of bounded) {
    const { of, ofOrganization, account, organization, size, isForAdministrators } = BOUNDS[kind] as Bound<never>
    const exempt = isForAdministrators === false ? ' (not of administrators)' : ''
    const expected = (account: number | undefined, organization: number | undefined) => [
      `${number(account)}${account === undefined ? '' : exempt}`,
      number(organization),
    ]
    if (ofOrganization !== undefined) {
      assert.deepEqual(rows.get(of)?.slice(0, 2), expected(account, undefined), of)
      assert.deepEqual(rows.get(ofOrganization)?.slice(0, 2), expected(undefined, organization), ofOrganization)
    } else if (account !== undefined || organization !== undefined)
      assert.deepEqual(rows.get(of)?.slice(0, 2), expected(account, organization), of)
    if (size !== undefined)
      assert.deepEqual(rows.get(size.of)?.slice(0, 2), expected(size.account, size.organization), size.of)
  }
})

test('9.1: bots draw on what their owner has', async () => {
  const [draft] = [...realm.state.draft.all()].filter(({ userId }) => userId === maker.user.id)
  const filled = fill('draft', copies(draft as never, 2000, withId as unknown as Copy))
  const drafts = { drafts: [{ type: '', to: [], topic: '', content: 'x' }] }
  try {
    for (const client of [bot, maker])
      assert.match((await client.call('POST', '/drafts', drafts)).body.msg, /More than/)
    await other.post('/drafts', drafts)
  } finally {
    filled.drop()
  }
  await bot.post('/drafts', drafts)
})

test('9.1: a topic is not followed by itself by an account that has too many, and the message is sent', async () => {
  const send = async (topic: string) =>
    maker.post('/messages', { type: 'stream', to: common.id, topic, content: 'the first' })
  const { id: _, automatic_new_visibility_policy: policy } = await send('begun with room')
  assert.equal(policy, 3)
  const template = [...realm.state.userTopic.all()].find(({ userId }) => userId === maker.user.id)!
  const filled = fill(
    'userTopic',
    copies(template as never, BOUNDS.userTopic.account, ((one: typeof template, n: number) => ({
      ...one,
      topicName: `full ${n}`,
    })) as never),
  )
  try {
    assert.equal((await send('begun without room')).automatic_new_visibility_policy, undefined)
  } finally {
    filled.drop()
  }
})

test('9.1: administrators furnish the organization beyond the bound of an account', async () => {
  const template = [...realm.state.channel.all()].find(({ creatorId }) => creatorId === maker.user.id)!
  const copy = ROWS.channel!.copy
  const filled = fill(
    'channel',
    Array.from({ length: BOUNDS.channel.account + 1 }, (_, n) => ({ ...copy(template, n), creatorId: owner.user.id })),
  )
  try {
    await owner.post('/channels/create', { name: 'one more', subscribers: [] })
  } finally {
    filled.drop()
  }
})

test('9.1: profiles of all accounts together have a bound', async () => {
  const { id } = await owner.post('/realm/profile_fields', { name: 'Motto', field_type: 2 })
  const { size, organization: _ } = BOUNDS.user
  const profileData = { [id]: { value: text(size.organization), html: null } }
  const filled = fill('user', [
    { ...realm.state.user.get(other.user.id)!, id: FAR, email: 'a', deliveryEmail: 'a', profileData },
  ])
  const change = { data: [{ id, value: 'mine' }] }
  try {
    const { status, body } = await maker.call('PATCH', '/users/me/profile_data', change)
    assert.deepEqual([status, body.msg], [400, `More than ${size.organization} ${size.of} in the organization`])
  } finally {
    filled.drop()
  }
  await maker.patch('/users/me/profile_data', change)
})

test('an account has at most 100 reactions to a message, and others still react', async () => {
  const names = Array.from(emojiNames().values(), ([name]) => name!).slice(0, 101)
  const react = (client: Client, name: string) =>
    client.call('POST', `/messages/${messageId}/reactions`, { emoji_name: name })
  for (const name of names.slice(0, 100)) assert.equal((await react(maker, name)).status, 200, name)
  assert.match((await react(maker, names[100]!)).body.msg, /at most 100 reactions/)
  assert.equal((await react(other, names[100]!)).status, 200)
})
