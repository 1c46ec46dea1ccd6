/** The check of imports against the table in ARCHITECTURE.md, and that of exports. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkExports, checkImports } from '../../tools/imports.ts'

const PAGE = `# Architecture

## What may import what

| Module | May import | Packages |
|---|---|---|
| \`base\` | | \`node:*\` |
| \`store\` | \`base\` | \`zod\` \`@noble/*\` |
| \`store/sqlite\` | \`base\` \`store/file.ts\` | |
| \`kms/api\` | \`kms/*\` \`store\` | |
| \`kms/domain\` | | |
| \`boot/host\` | \`base/log.ts\` \`boot/platform.ts\` | |
| \`boot\` | | |
| \`tools/coffer\` | \`client\` | |

## Processes

| \`release\` | | |
`

const problemsOf = (path: string, ...lines: string[]): string[] =>
  checkImports(PAGE, new Map([[path, `${lines.join('\n')}\n`]]))

const refused = (path: string, module: string, what: string): string[] => [
  `${path}: \`${module}\` may not import ${what}`,
]

test('allows imports of the own module and of those in the row', () => {
  assert.deepEqual(
    problemsOf(
      'firmware/store/deep/records.ts',
      "import { readFile } from '../file.ts'",
      "import type { Log } from '../../base/log.ts'",
      'import {',
      '  a,',
      '  type B,',
      "} from '../../base/error.ts'",
      "export { c } from '../../base/wiping.ts'",
      "import '../../base/start.ts'",
      "import * as z from 'zod'",
      "import { sha256 } from '@noble/hashes/sha2.js'",
      "const { d } = await import('../../base/late.ts')",
    ),
    [],
  )
})

test('refuses an import that the row does not have, in each form of an import', () => {
  for (const line of [
    "import { http } from '../http/server.ts'",
    "import type { Http } from '../http/server.ts'",
    "import {\n  first,\n  type Second,\n} from '../http/server.ts'",
    "import * as http from '../http/server.ts'",
    "import '../http/server.ts'",
    "export { http } from '../http/server.ts'",
    "export * from '../http/server.ts'",
    "const http = await import('../http/server.ts')",
    "type Http = import('../http/server.ts').Http",
  ])
    assert.deepEqual(
      problemsOf('firmware/store/a.ts', 'const one = 1', line, 'const two = 2'),
      refused('firmware/store/a.ts', 'firmware/store', 'firmware/http/server.ts'),
      line,
    )
})

test('refuses a package that the row does not have', () => {
  const path = 'firmware/store/a.ts'
  assert.deepEqual(problemsOf(path, "import { Hono } from 'hono'"), refused(path, 'firmware/store', 'hono'))
  assert.deepEqual(problemsOf(path, "import 'node:fs'"), refused(path, 'firmware/store', 'node:fs'))
  assert.deepEqual(problemsOf(path, "import 'zod-like'"), refused(path, 'firmware/store', 'zod-like'))
})

test('a row of a folder does not open the module inside that folder, nor the other way around', () => {
  const up = 'firmware/store/sqlite/a.ts'
  assert.deepEqual(problemsOf(up, "import '../file.ts'"), [])
  assert.deepEqual(
    problemsOf(up, "import '../head.ts'"),
    refused(up, 'firmware/store/sqlite', 'firmware/store/head.ts'),
  )
  const down = 'firmware/store/a.ts'
  assert.deepEqual(
    problemsOf(down, "import './sqlite/a.ts'"),
    refused(down, 'firmware/store', 'firmware/store/sqlite/a.ts'),
  )
})

test('a cell names one file, or with a star all modules of a folder', () => {
  const host = 'boot/host/a.ts'
  assert.deepEqual(problemsOf(host, "import '../platform.ts'", "import '../../firmware/base/log.ts'"), [])
  assert.deepEqual(problemsOf(host, "import '../manager.ts'"), refused(host, 'boot/host', 'boot/manager.ts'))
  const error = "import '../../firmware/base/error.ts'"
  assert.deepEqual(problemsOf(host, error), refused(host, 'boot/host', 'firmware/base/error.ts'))
  assert.deepEqual(problemsOf('firmware/kms/api/a.ts', "import '../domain/keys.ts'"), [])
})

test('refuses a folder without a row, and reads no other table of the page', () => {
  for (const path of ['firmware/novel/a.ts', 'firmware/main.ts', 'firmware/release/a.ts'])
    assert.deepEqual(problemsOf(path, ''), [`${path}: its folder has no row in ARCHITECTURE.md`])
  assert.deepEqual(problemsOf('test/novel/a.test.ts', "import '../../firmware/store/a.ts'"), [])
  assert.deepEqual(problemsOf('tools/soak.ts', "import '../firmware/store/a.ts'"), [])
  const command = 'tools/coffer/a.ts'
  const base = "import '../../firmware/base/log.ts'"
  assert.deepEqual(problemsOf(command, base), refused(command, 'tools/coffer', 'firmware/base/log.ts'))
})

test('finds exports that no other file mentions', () => {
  const files = new Map([
    [
      'firmware/a.ts',
      'export const used = 1\nexport async function idle(): Promise<void> {}\nexport type Lone = string\n',
    ],
    ['firmware/b.ts', "import { used } from './a.ts'\nconst idler = used\nexport { used as again, idler as other }\n"],
    ['test/a.test.ts', "import { again } from '../firmware/b.ts'\n"],
  ])
  assert.deepEqual(checkExports(files), [
    'firmware/a.ts: no other file uses idle',
    'firmware/a.ts: no other file uses Lone',
    'firmware/b.ts: no other file uses other',
  ])
})

test('the repository passes, and would not with one permission less', () => {
  const root = join(import.meta.dirname, '../..')
  execFileSync(process.execPath, [join(root, 'tools/imports.ts')]) // throws where it ends with another code than 0
  const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  const path = 'firmware/release/stager.ts'
  const files = new Map([[path, readFileSync(join(root, path), 'utf8')]])
  assert.deepEqual(checkImports(page, files), [])
  const narrowed = page.replace(/^\| `release` \| `base` `channel` \|/m, '| `release` | `base` |')
  assert.notEqual(narrowed, page)
  assert.notDeepEqual(checkImports(narrowed, files), [])
})
