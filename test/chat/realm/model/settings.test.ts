import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { REALM_SETTINGS, type RealmSetting } from '../../../../firmware/chat/realm/model/realm-settings.ts'
import type { Setting } from '../../../../firmware/chat/realm/model/setting.ts'
import {
  NOT_IN_BULK,
  NOT_IN_REALM_DEFAULTS,
  USER_SETTINGS,
} from '../../../../firmware/chat/realm/model/user-settings.ts'
import { contractTable } from '../../support/contract.ts'

const plainNames = (cell: string): string[] =>
  cell
    .replaceAll(/\([^)]*\)/g, '')
    .split(/[,/]/)
    .map((name) => name.trim())
    .filter((name) => /^[a-z0-9_]+$/.test(name))

describe('settings of users', () => {
  it('are those of the contract', () => {
    const rows = contractTable('2.7').slice(1)
    const names = rows.filter(([name]) => !name!.startsWith('(read only')).flatMap(([name]) => plainNames(name!))
    assert.deepEqual(Object.keys(USER_SETTINGS).sort(), names.sort())
  })

  it('begin as the contract says, where it says one value for a row', () => {
    for (const [names, , value] of contractTable('2.7').slice(1)) {
      if (!/^(true|false|null|\d+|[a-z_]+)$/.test(value!)) continue
      const expected = /^(true|false|null|\d+)$/.test(value!) ? JSON.parse(value!) : value
      for (const name of plainNames(names!)) {
        assert.equal((USER_SETTINGS as Record<string, Setting>)[name]!.default, expected, name)
      }
    }
  })

  it('each takes its own default', () => {
    for (const [name, { schema, default: value }] of Object.entries<Setting>(USER_SETTINGS)) {
      assert.deepEqual(schema.safeParse(value), { success: true, data: value }, name)
    }
  })

  it('each refuses a value of another type', () => {
    for (const [name, { schema }] of Object.entries<Setting>(USER_SETTINGS)) {
      for (const bad of [{}, [], 'no such value of any setting', -1, 1e9, 0.5]) {
        assert.equal(schema.safeParse(bad).success, false, `${name} takes ${JSON.stringify(bad)}`)
      }
    }
  })

  it('settings of the organization and its administrators leave out personal ones', () => {
    for (const name of [...NOT_IN_REALM_DEFAULTS, ...NOT_IN_BULK]) assert.ok(name in USER_SETTINGS, name)
  })

  it('a time zone is one that exists, or none', () => {
    const { schema } = USER_SETTINGS.timezone
    for (const good of ['', 'Europe/Berlin', 'UTC']) assert.equal(schema.safeParse(good).success, true, good)
    for (const bad of ['Mars/Olympus', '+05:00', 'Europe/Berlin\0'])
      assert.equal(schema.safeParse(bad).success, false, bad)
  })
})

describe('settings of the organization', () => {
  const WHO = { Adm: 'administrators', Own: 'owners' } as Record<string, string>

  /** Rows of the contract that somebody may change, without the rights of groups and what is stored apart. */
  const rows = contractTable('2.6')
    .slice(1)
    .filter(
      ([name, , , who]) => /^(Adm|Own)/.test(who!) && !/group settings|authentication_methods|string_id/.test(name!),
    )
    .flatMap(([names, , value, who, event]) =>
      plainNames(names!).map((name, index, all) => ({
        name,
        value: value!.split(/ \/ |, /).length === all.length ? value!.split(/ \/ |, /)[index]! : value!,
        who: WHO[who!.slice(0, 3)]!,
        event: event!.startsWith('d') ? 'update_dict' : 'update',
      })),
    )

  it('are those of the contract, and what only the operator changes', () => {
    const ours = Object.entries<RealmSetting>(REALM_SETTINGS)
    const changeable = ours.filter(([, { who }]) => who !== null).map(([name]) => name)
    assert.deepEqual(changeable.sort(), rows.map(({ name }) => name).sort())
    assert.deepEqual(
      ours.filter(([, { who }]) => who === null).map(([name]) => name),
      ['owner_full_content_access'],
    )
  })

  for (const { name, value, who, event } of rows) {
    it(`${name} is for ${who} to change, begins as ${value || 'empty text'}, and is told by ${event}`, () => {
      const setting = (REALM_SETTINGS as Record<string, RealmSetting>)[name]!
      assert.equal(setting.who, who)
      assert.equal(setting.event, event)
      if (value === '—') return // a name is given when an organization is made
      const said = value.split(' ')[0]!
      assert.equal(
        setting.default,
        /^(true|false|null|-?\d+)$/.test(said) ? JSON.parse(said) : said.replaceAll('"', ''),
      )
    })
  }

  it('each but the name takes its own default', () => {
    for (const [name, { schema, default: value }] of Object.entries<RealmSetting>(REALM_SETTINGS)) {
      if (name !== 'name') assert.deepEqual(schema.safeParse(value), { success: true, data: value }, name)
    }
  })

  it('limits are seconds from one on, or unlimited', () => {
    const { schema } = REALM_SETTINGS.message_content_edit_limit_seconds
    assert.equal(schema.parse('unlimited'), null)
    assert.equal(schema.parse(1), 1)
    for (const bad of [0, -5, 1.5, 'never', 1e12]) assert.equal(schema.safeParse(bad).success, false, String(bad))
  })

  it('the policy of edit histories is a word, also where a number asks for it', () => {
    const { schema } = REALM_SETTINGS.message_edit_history_visibility_policy
    assert.deepEqual(
      [1, 2, 3, 'moves'].map((value) => schema.parse(value)),
      ['all', 'moves', 'none', 'moves'],
    )
    assert.equal(schema.safeParse(4).success, false)
  })

  it('messages are kept for days from one on, or forever', () => {
    const { schema } = REALM_SETTINGS.message_retention_days
    assert.equal(schema.parse(-1), -1)
    assert.equal(schema.safeParse(0).success, false)
    assert.equal(schema.safeParse(-2).success, false)
  })

  it('an address of Jitsi is a web address; default is none of its own', () => {
    const { schema } = REALM_SETTINGS.jitsi_server_url
    assert.equal(schema.parse('default'), null)
    assert.equal(schema.parse('https://meet.example.com'), 'https://meet.example.com')
    assert.equal(schema.safeParse('javascript:alert(1)').success, false)
  })

  it('a name is not empty, and as long in code points as the contract says', () => {
    const { schema } = REALM_SETTINGS.name
    assert.equal(schema.safeParse('  ').success, false)
    assert.equal(schema.safeParse('😀'.repeat(40)).success, true)
    assert.equal(schema.safeParse('😀'.repeat(41)).success, false)
    assert.equal(schema.safeParse('a\0b').success, false)
  })
})
