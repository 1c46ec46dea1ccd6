/**
 * No field for a name takes a character that no name has, and no field for a text one that no text has: contract section 1.1.
 * The declarations are walked, so that a new field is in a list here, with its reason, or refuses them.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { z } from 'zod'
import { createClock } from '../../../firmware/base/clock.ts'
import type { Log } from '../../../firmware/base/log.ts'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import { expectName, expectText } from '../../../firmware/chat/base/characters.ts'
import type { Parameter } from '../../../firmware/chat/pipeline/parameters.ts'
import { createChat } from '../../../firmware/chat/process/chat.ts'
import { POLL, POLL_WIDGET, TODO, TODO_WIDGET } from '../../../firmware/chat/realm/messages/submessages.ts'
import { CHOICES } from '../../../firmware/chat/realm/messages/widgets.ts'
import { fullName } from '../../../firmware/chat/realm/model/user-names.ts'
import { deriveKey } from '../../../firmware/crypto/kdf.ts'
import { CHAT_KEY, OWNER_PASSWORD } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const IN_NEITHER = [
  '\u0000',
  '\u001b',
  '\u007f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',
  '\ufdd1',
  '\ufffe',
  '\u{10ffff}',
]
const IN_TEXTS_ALONE = ['\t', '\n', '\r']

/** Strings without an own rule for characters, by the name of the parameter or of the member of its JSON text. */
const OTHERS: Readonly<Record<string, string>> = {
  content: 'what is said, as it was typed: of messages, drafts, snippets, and of widgets, whose texts are walked below',
  to: 'looked up',
  topic: 'of POST /typing: asTopic, by the level of the client',
  username: 'looked up',
  email: 'an address: realm/model/user-names.ts',
  new_email: 'an address: realm/model/user-names.ts',
  invitee_emails: 'addresses: realm/model/user-names.ts',
  full_name: 'fullName, tested below',
  short_name: 'letters, digits and three marks: realm/model/user-names.ts',
  password: 'kept as a digest',
  old_password: 'kept as a digest',
  new_password: 'kept as a digest',
  token: 'opaque',
  appid: 'opaque',
  push_key: 'base64: realm/organization/users/push.ts',
  bouncer_public_key: 'base64: realm/organization/users/push.ts',
  encrypted_push_registration: 'base64: realm/organization/users/push.ts',
  token_id: 'base64: realm/organization/users/push.ts',
  endpoint: 'a URL: outgoing/web-push.ts',
  p256dh: 'base64url: outgoing/push-encryption.ts',
  auth: 'base64url: outgoing/push-encryption.ts',
  domain: 'labels: realm/organization/settings/domains.ts',
  string_id: 'compared with the one there is',
  queue_id: 'looked up',
  local_id: 'told to the client that sent it alone',
  sender: 'refused',
  forged: 'refused',
  time: 'refused',
  user_id: 'looked up',
  stream: 'looked up',
  stream_names: 'looked up',
  subscriptions: 'looked up, where one is deleted',
  principals: 'looked up',
  delete: 'looked up',
  default_sending_stream: 'looked up',
  default_events_register_stream: 'looked up',
  alert_words: 'looked up, where one is deleted',
  keys: 'looked up',
  storage: 'data of a bot, for itself',
  config_data: 'settings of a bot, for itself and its owner',
  payload_url: 'a URL: realm/objects/bot-services.ts',
  service_payload_url: 'a URL: realm/objects/bot-services.ts',
  emoji_name: 'looked up, or letters, digits and three marks: realm/organization/settings/custom-emoji.ts',
  emoji_code: 'looked up',
  onboarding_step: 'one of those there are',
  fragment: 'looked up, where it is a part of the path',
  key: 'looked up',
  api_key: 'looked up',
  anchor: 'read as a number or one of two words',
  anchor_date: 'read as a time',
  narrow: 'asked, and kept of a queue alone',
  event_types: 'asked, and kept of a queue alone',
  fetch_event_types: 'asked, and kept of a queue alone',
  op: 'one of two words',
  flag: 'one of the flags there are',
  message_retention_days: 'a number or one of two words',
  subscription_data: 'a color or a switch: realm/organization/channels/properties.ts',
  authentication_methods: 'names of those there are',
  field_data: 'realm/organization/users/profile-fields.ts, tested below',
  data: 'realm/organization/users/profile-values.ts, tested below',
  profile_data: 'as data',
}

const TEXTS = new Set([
  'description',
  'new_description',
  'note',
  'deactivation_notification_comment',
  'welcome_message_custom_text',
  'reply',
])

// biome-ignore lint/suspicious/noExplicitAny: the parts of a schema of any kind
type Definition = any

/** A value that the schema may take, with `text` for every string that is at `path`, and none of what may be left out elsewhere. */
function sample(schema: z.ZodType, text: string, path: readonly (string | number)[]): unknown {
  const definition = schema._zod.def as Definition
  const [next, ...rest] = path
  switch (definition.type) {
    case 'string':
      return path.length === 0 ? text : 'a'
    case 'object': {
      const members = Object.entries(definition.shape as Record<string, z.ZodType>).filter(
        ([name, member]) => name === next || member._zod.optin !== 'optional',
      )
      return Object.fromEntries(
        members.map(([name, member]) => [name, sample(member, text, name === next ? rest : ['-'])]),
      )
    }
    case 'array':
      return [sample(definition.element, text, rest)]
    case 'tuple':
      return definition.items.map((item: z.ZodType, at: number) => sample(item, text, at === next ? rest : ['-']))
    case 'record':
      return next === 'key'
        ? { [text]: sample(definition.valueType, text, ['-']) }
        : { a: sample(definition.valueType, text, rest) }
    case 'union':
      return sample(
        definition.options[typeof next === 'number' ? next : 0],
        text,
        typeof next === 'number' ? rest : path,
      )
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return sample(definition.innerType, text, path)
    case 'pipe':
      return sample(definition.in, text, path)
    case 'literal':
      return definition.values[0]
    case 'enum':
      return Object.values(definition.entries)[0]
    case 'boolean':
      return true
    case 'number':
      return 1
    default:
      return null
  }
}

function* strings(schema: z.ZodType, path: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
  const definition = schema._zod.def as Definition
  switch (definition.type) {
    case 'string':
      yield path
      break
    case 'object':
      for (const [name, member] of Object.entries(definition.shape as Record<string, z.ZodType>))
        yield* strings(member, [...path, name])
      break
    case 'array':
      yield* strings(definition.element, [...path, '[]'])
      break
    case 'tuple':
      for (const [at, item] of definition.items.entries()) yield* strings(item, [...path, at])
      break
    case 'record':
      yield [...path, 'key']
      yield* strings(definition.valueType, [...path, 'value'])
      break
    case 'union':
      for (const [at, option] of definition.options.entries()) yield* strings(option, [...path, at])
      break
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      yield* strings(definition.innerType, path)
      break
    case 'pipe':
      yield* strings(definition.in, path)
      break
    case 'literal':
    case 'enum':
    case 'boolean':
    case 'number':
    case 'null':
    case 'unknown':
    case 'transform':
      break
    default:
      throw new Error(`A schema of the kind ${definition.type}: say where its strings are`)
  }
}

const succeeds = (act: () => unknown): boolean => {
  try {
    act()
    return true
  } catch {
    return false
  }
}

function takers(name: string, parameter: Parameter<unknown>, character: string): string[] {
  const text = `a${character}b`
  const raw = succeeds(() => parameter.read(text, name)) ? [name] : []
  if (parameter.schema === null) return raw
  const { schema } = parameter
  const members = [...strings(schema)].filter((path) =>
    succeeds(() => parameter.read(JSON.stringify(sample(schema, text, path)), name)),
  )
  return [
    ...raw,
    ...members.map(
      (path) =>
        (path.findLast((part) => typeof part === 'string' && !/^(?:\[\]|key|value)$/.test(part)) as string) ?? name,
    ),
  ]
}

describe('Fields of requests', () => {
  for (const { method, path, parameters = {}, segments = {} } of DECLARATIONS)
    for (const [name, parameter] of Object.entries({ ...segments, ...parameters })) {
      if (name in OTHERS) continue
      it(`${method} ${path}, ${name}`, () => {
        for (const character of [...IN_NEITHER, ...IN_TEXTS_ALONE]) {
          const isAllowed = (field: string) =>
            field in OTHERS || (TEXTS.has(field) && IN_TEXTS_ALONE.includes(character))
          const wrong = takers(name, parameter as Parameter<unknown>, character).filter((field) => !isAllowed(field))
          assert.deepEqual(wrong, [], `take ${JSON.stringify(character)}`)
        }
      })
    }

  it('that are in a list here are there', () => {
    const all = new Set<string>()
    for (const { parameters = {}, segments = {} } of DECLARATIONS)
      for (const [name, { schema }] of Object.entries({ ...parameters, ...segments } as Record<
        string,
        Parameter<unknown>
      >)) {
        all.add(name)
        if (schema !== null) for (const path of strings(schema)) for (const part of path) all.add(String(part))
      }
    const gone = [...Object.keys(OTHERS), ...TEXTS].filter((name) => !all.has(name) && name !== 'reply')
    assert.deepEqual(gone, [])
  })
})

describe('Texts of widgets', () => {
  for (const schema of [CHOICES, POLL_WIDGET, TODO_WIDGET, ...POLL.options, ...TODO.options])
    it(JSON.stringify(sample(schema, 'a', ['-'])), () => {
      for (const path of strings(schema)) {
        const name = path.findLast((part) => typeof part === 'string' && part !== '[]') as string
        if (name === 'key') continue // of an option or a task, by numbers
        assert.ok(schema.safeParse(sample(schema, 'ab', path)).success, path.join('.'))
        for (const character of IN_NEITHER)
          assert.ok(!schema.safeParse(sample(schema, `a${character}b`, path)).success, path.join('.'))
      }
    })
})

it('the first invalid character is told by its position, counted from 1 in characters', () => {
  const refusal = (act: () => unknown) => {
    try {
      return act()
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.equal(
    refusal(() => expectName('Test\n\rTopic', 'topic')),
    'Invalid character in topic, at position 5',
  )
  assert.equal(
    refusal(() => expectName('😀😀\u202e', 'topic')),
    'Invalid character in topic, at position 3',
  )
  assert.equal(
    refusal(() => expectText('a\nb\u202e', 'note')),
    'Invalid character in note, at position 4',
  )
  assert.equal(
    refusal(() => expectText('a\r\n\tb', 'note')),
    'a\r\n\tb',
  )
  for (const fine of ['אב\u200f', 'می\u200cخواهم', '👩\u200d💻', 'e\u0301', '\u{e0067}'])
    assert.equal(
      refusal(() => expectName(fine, 'topic')),
      fine,
    )
})

describe('Names', () => {
  it('of accounts have none of these characters', () => {
    for (const character of [...IN_NEITHER, ...IN_TEXTS_ALONE]) assert.equal(fullName(`Ham${character}let`), null)
  })

  it('of topics are refused by the words of upstream, wherever they are taken', async () => {
    const verona = rig.channel('Verona', [rig.owner, hamlet])
    const { id } = await hamlet.post('/messages', { type: 'channel', to: verona.id, topic: 'good', content: 'Words' })
    const topic = 'Test\u202eTopic'
    const sent = { type: 'channel', to: verona.id, content: 'Words' }
    const asked: [method: string, path: string, values: object][] = [
      ['POST', '/messages', { ...sent, topic }],
      ['POST', '/messages', { ...sent, subject: topic }],
      ['PATCH', `/messages/${id}`, { topic }],
      ['POST', '/scheduled_messages', { ...sent, topic, scheduled_delivery_timestamp: 4e9 }],
      ['POST', '/typing', { type: 'channel', op: 'start', stream_id: verona.id, topic }],
      ['POST', '/user_topics', { stream_id: verona.id, topic, visibility_policy: 1 }],
      ['PATCH', '/users/me/subscriptions/muted_topics', { stream_id: verona.id, topic, op: 'add' }],
    ]
    for (const [method, path, values] of asked) {
      const { body } = await hamlet.refused('BAD_REQUEST', method, path, { ...values })
      assert.equal(body.msg, 'Invalid character in topic, at position 5', path)
    }
  })

  it('of polls and tasks are refused in the message that makes them', async () => {
    const say = (content: string) => hamlet.call('POST', '/messages', { type: 'direct', to: [hamlet.user.id], content })
    for (const content of ['/poll Who\u202e?\na', '/poll Who?\na\nb\u202e', '/todo List\ntask: \u202ewords'])
      assert.equal((await say(content)).body.code, 'BAD_REQUEST', JSON.stringify(content))
    assert.equal((await say('Not a poll \u202e')).status, 200)
  })

  it('and values of profile fields have none of these characters, values of long ones may have lines', async () => {
    const make = async (field_type: number, values: object = {}) =>
      rig.owner.call('POST', '/realm/profile_fields', { name: `Field ${field_type}`, field_type, ...values })
    const choices = { 0: { text: 'a\u202eb', order: '1' } }
    assert.equal((await make(3, { field_data: choices })).status, 400)
    const [short, long] = [(await make(1)).body.id, (await make(2)).body.id]
    const set = async (id: number, value: string) =>
      (await hamlet.call('PATCH', '/users/me/profile_data', { data: [{ id, value }] })).status
    assert.deepEqual([await set(short, 'a\nb'), await set(long, 'a\nb'), await set(short, 'ab')], [400, 200, 200])
    assert.deepEqual([await set(short, 'a\u202eb'), await set(long, 'a\u202eb')], [400, 400])
  })

  it('of organizations are refused where one is made', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'coffer-chat-'))
    const chat = createChat({
      directory,
      chatKey: CHAT_KEY,
      log: { info() {}, warning() {}, error() {}, debug() {} } as unknown as Log,
      clock: createClock(0, Date.now),
      derive: async (password, salt, cost) => deriveKey(password, salt, cost),
      passwordCost: { N: 2, r: 1, p: 1 },
    })
    try {
      const owner = { email: 'olivia@example.com', fullName: 'Olivia Owner' }
      const make = (name: string) => chat.createOrganization({ name, url: '', owner }, OWNER_PASSWORD)
      await assert.rejects(make('Test\u202eing'), { message: 'Invalid character in name, at position 5' })
      await make('Testing')
    } finally {
      chat.close()
      rmSync(directory, { recursive: true })
    }
  })
})
