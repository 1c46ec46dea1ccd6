/** Programs of earlier commits of this repository, each bundled once for all test files. */

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundleCommit } from '../../tools/build-commit.ts'
import { inProject, madeOnce, ROOT } from './made-once.ts'

const PROGRAMS_MAX = 2 // kept, each some 15 MB

/** Options of a test that runs the program of this commit, which a copy of the sources and a shallow clone lack; in CI nothing is skipped. */
export function needsCommit(commit: string): { skip: string | false } {
  if (process.env.CI === 'true') return { skip: false }
  const { status } = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT })
  return { skip: status !== 0 && `to run this: a clone with commit ${commit}, such as git fetch --unshallow makes` }
}

/** Its Node is that of the sources as they are. */
export async function buildOfCommit(commit: string): Promise<string> {
  const directory = await madeOnce({
    stem: join(ROOT, 'dist/test-build/earlier'),
    parameters: [commit],
    sources: inProject('package-lock.json', 'tools/build-commit.ts'),
    kept: PROGRAMS_MAX,
    make: async (unfinished) => {
      const sources = join(unfinished, 'sources')
      bundleCommit(commit, sources, unfinished)
      rmSync(sources, { recursive: true })
      rmSync(`${sources}.tar`)
    },
  })
  return join(directory, 'boot.js')
}
