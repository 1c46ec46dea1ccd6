import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { address, addressKey, botLocalPart, fullName } from '../../../../firmware/chat/realm/model/user-names.ts'

describe('names of people', () => {
  it('are trimmed, of 2 to 100 characters, of any script', () => {
    assert.equal(fullName('  Ada Lovelace '), 'Ada Lovelace')
    assert.equal(fullName('陳大文'), '陳大文')
    assert.equal(fullName('😀'.repeat(100)), '😀'.repeat(100))
    assert.equal(fullName('Zoe\u0308'), 'Zo\u00eb')
  })

  for (const bad of [
    '',
    'A',
    ' A ',
    'x'.repeat(101),
    'a*b',
    'a`b',
    'a\\b',
    'a>b',
    'a"b',
    'a@b',
    'a\0b',
    'a\nb',
    'a\u2028b',
    'Ada|7',
    'a\ud800b',
  ]) {
    it(`are not ${JSON.stringify(bad.slice(0, 20))}`, () => assert.equal(fullName(bad), null))
  }
})

describe('addresses', () => {
  for (const good of [
    'ada@example.com',
    "o'brien+chat@mail.example.org",
    'root@localhost',
    'a.b@münchen.example',
    'x@10.0.0.1',
  ]) {
    it(`may be ${good}`, () => assert.equal(address(good), good))
  }
  for (const bad of [
    '',
    'ada',
    '@example.com',
    'ada@',
    'a b@example.com',
    'ada@exa mple.com',
    'a..b@example.com',
    '.a@example.com',
    'a@-b.example',
    'a@b..c',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b.'.repeat(130)}com`,
    'a\0@example.com',
    'a@b\n.com',
    'a"b@example.com',
  ]) {
    it(`are not ${JSON.stringify(bad.slice(0, 30))}`, () => assert.equal(address(bad), null))
  }

  it('that differ in case are one', () => assert.equal(addressKey('Ada@Example.COM'), addressKey('ada@example.com')))

  it('of bots are made from a short name', () => {
    assert.equal(botLocalPart('hello'), 'hello-bot')
    for (const bad of ['', ' ', 'a b', 'a@b', '.a', 'a..b', 'x'.repeat(61), 'é'])
      assert.equal(botLocalPart(bad), null, bad)
  })
})
