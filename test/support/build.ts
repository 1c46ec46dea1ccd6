/** The sources as they are, bundled once for all test files: never yesterday's build. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inProject, madeOnce, ROOT } from './made-once.ts'

const PROGRAMS_MAX = 6 // kept, each some 15 MB
const DEFAULT_VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

export const BUNDLE_SOURCES = inProject(
  'boot',
  'firmware',
  'tools/build.ts',
  'tools/build-command.ts',
  'tools/build-chat-page.ts',
  'tools/build-console.ts',
  'tools/coffer',
  'package.json',
  'package-lock.json',
)

export async function buildForTests(version = DEFAULT_VERSION): Promise<string> {
  const directory = await madeOnce({
    stem: join(ROOT, 'dist/test-build/program'),
    parameters: [version],
    sources: BUNDLE_SOURCES,
    kept: PROGRAMS_MAX,
    make: async (unfinished) => (await import('../../tools/build.ts')).bundle(unfinished, version),
  })
  return join(directory, 'boot.js')
}
