import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  entryName,
  isLastResort,
  parseEntry,
  readBootLoader,
  startedOnTrial,
} from '../../../boot/device/esp/boot-count.ts'

const NAMES: [file: string, version: string, counter: { left: number; done: number } | null][] = [
  ['coffer_1.2.3.efi', '1.2.3', null],
  ['coffer_1.2.efi', '1.2', null],
  ['coffer_1.2.3+3-0.efi', '1.2.3', { left: 3, done: 0 }],
  ['coffer_1.2.3+0-3.efi', '1.2.3', { left: 0, done: 3 }],
  ['COFFER_1.2.3+2-1.EFI', '1.2.3', { left: 2, done: 1 }],
  ['coffer_1.2.3+3.efi', '1.2.3', { left: 3, done: 0 }],
]

test('names of versions and their counters', () => {
  for (const [file, version, counter] of NAMES) assert.deepEqual(parseEntry(file), { file, version, counter })
  for (const file of ['', 'coffer.efi', 'coffer_.efi', 'coffer_1.efi', 'coffer_1.2.3+.efi', 'coffer_1.2.3-1.efi'])
    assert.equal(parseEntry(file), null, file)
  for (const file of ['coffer_1.2.3+3-0.efi.new', 'other_1.2.3.efi', 'coffer_01.2.3.efi', 'x/coffer_1.2.efi'])
    assert.equal(parseEntry(file), null, file)
  assert.equal(entryName('1.2.3', null), 'coffer_1.2.3.efi')
  assert.equal(entryName('1.2.3', { left: 2, done: 1 }), 'coffer_1.2.3+2-1.efi')
  assert.ok(isLastResort(parseEntry('coffer_1.2.3+0-0.efi')!))
  assert.ok(!isLastResort(parseEntry('coffer_1.2.3+0-1.efi')!))
})

const variables = (values: Record<string, string>) => (name: string) =>
  values[name] === undefined ? null : Buffer.from(`${values[name]}\0`, 'utf16le')

test('what the boot loader says of this start', () => {
  assert.equal(readBootLoader(variables({})), null)
  assert.deepEqual(readBootLoader(variables({ LoaderEntrySelected: 'coffer_1.2.efi' })), {
    selected: 'coffer_1.2.efi',
    counted: null,
  })
  assert.deepEqual(
    readBootLoader(
      variables({
        LoaderEntrySelected: 'coffer_1.3+3-0.efi',
        LoaderBootCountPath: '\\EFI\\Linux\\coffer_1.3+2-1.efi',
      }),
    ),
    { selected: 'coffer_1.3+3-0.efi', counted: 'coffer_1.3+2-1.efi' },
  )
})

test('only when selection and count both name this version was it started on trial', () => {
  const selected = 'coffer_1.3.efi'
  const counted = 'coffer_1.3+2-1.efi'
  assert.ok(startedOnTrial({ selected, counted }, '1.3'))
  assert.ok(startedOnTrial({ selected: 'coffer_1.3+3-0.efi', counted }, '1.3'))
  assert.ok(!startedOnTrial({ selected, counted }, '1.2'))
  assert.ok(!startedOnTrial({ selected, counted: null }, '1.3'))
  assert.ok(!startedOnTrial({ selected, counted: 'coffer_1.4+2-1.efi' }, '1.3'))
  assert.ok(!startedOnTrial({ selected: 'coffer_1.2.efi', counted }, '1.3'))
})
