import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ambiguousTypes, findings } from '../../tools/words.ts'

const rules = (path: string, text: string) =>
  findings(path, text).map((finding) => finding.split(': ').slice(0, 2).join(' '))

test('a doc comment that begins with a relative clause is an error', () => {
  assert.deepEqual(rules('a.ts', '/** What is sent. */\nconst a = 1\n'), ['1 doc comment begins with What, Of, ...'])
  assert.deepEqual(rules('a.ts', '/**\n * Whoever asks. */\n').length, 2)
  assert.deepEqual(rules('a.ts', '/** Returns what is sent. */\n'), [])
})

test('comments, texts and pages are read, names and regular expressions are not', () => {
  assert.deepEqual(rules('a.ts', "const his = /['\"] he/ // a user, he\nlog('whoever')\n"), [
    '1 he, him, his',
    '2 whoever',
  ])
  assert.deepEqual(rules('a.md', 'The behaviour.\n\nHe asks.\n'), ['1 British spelling', '3 he, him, his'])
  assert.deepEqual(rules('a.ts', 'const a = `grey colour of others`\n'), ['1 British spelling'])
})

test('retired names and numbers of contract rows are errors in code', () => {
  assert.deepEqual(rules('a.ts', "sightOf(realm)\nanswers('E103')\n// contract E103\n"), [
    '2 number of a contract row',
    '1 retired name',
  ])
  assert.deepEqual(rules('a.md', 'Row E103 and `sightOf`.\n'), [])
})

test('an exported type has one meaning outside of tests and the client', () => {
  const sources = new Map([
    ['firmware/a/a.ts', 'export interface Place {\n'],
    ['firmware/b/b.ts', 'export type Place = string\nexport class User {}\n'],
    ['firmware/c/c.ts', 'export interface User {\n'],
    ['firmware/client/types.ts', 'export interface Place {\n'],
    ['test/a.test.ts', 'export interface Place {\n'],
  ])
  assert.deepEqual(ambiguousTypes(sources), [
    'exported type with two meanings: Place: firmware/a/a.ts, firmware/b/b.ts',
  ])
})
