// @test short 1
/** An earlier commit is bundled with the packages that are here if these are all it wants. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasPackages } from '../../tools/build-commit.ts'

type Packages = Record<string, { version?: string; integrity?: string }>

const lock = (packages: Packages): string => JSON.stringify({ packages: { '': { version: '0.1.0' }, ...packages } })
const ZOD = { version: '4.0.1', integrity: 'sha512-a' }
const OTHER = { version: '1.0.0', integrity: 'sha512-b' }

test('packages that were added do no harm; another version, other contents and a lack do', () => {
  const wanted = lock({ 'node_modules/zod': ZOD })
  assert.ok(hasPackages(wanted, wanted))
  assert.ok(hasPackages(lock({ 'node_modules/zod': ZOD, 'node_modules/other': OTHER, '': {} }), wanted))
  assert.ok(!hasPackages(lock({ 'node_modules/zod': { ...ZOD, version: '4.0.2' } }), wanted))
  assert.ok(!hasPackages(lock({ 'node_modules/zod': { ...ZOD, integrity: 'sha512-c' } }), wanted))
  assert.ok(!hasPackages(lock({ 'node_modules/a/node_modules/zod': ZOD }), wanted))
  assert.ok(!hasPackages(lock({ 'node_modules/other': OTHER }), wanted))
})
