/**
 * How many commits each database has seen, kept in the appliance's store, sealed by the chat key: a database that has seen
 * fewer was put back to an older copy, which no seal of a page can tell. Design 4.
 */

import * as z from 'zod'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../../crypto/seal.ts'
import { type Commits, DATABASES, type DatabaseName } from '../store/store.ts'

const keptSchema = z.object({
  generation: z.string(),
  commits: z.record(z.enum(DATABASES), z.int()),
  /** What was found once stays true of this generation. */
  older: z.array(z.enum(DATABASES)),
})
type Kept = z.infer<typeof keptSchema>

export interface CommitCounter {
  /** Databases that were put back to an older copy, or cut short by damage, now or earlier. */
  readonly older: readonly DatabaseName[]
  /** For the appliance to keep; null when it has it already. */
  seal(commits: Commits): Uint8Array | null
  close(): void
}

interface CommitCounterOptions {
  generation: string
  chatKey: Uint8Array
  random: Random
  /** What the appliance has kept of this generation, and what the databases say now. */
  kept: Uint8Array | null
  commits: Commits
  /** Those that have lost changes to damage of their logs, which may be more recent than what is kept. */
  damaged: readonly DatabaseName[]
  report: (problem: string) => void
}

export function openCommitCounter(options: CommitCounterOptions): CommitCounter {
  const { generation, chatKey, random, kept, commits, damaged, report } = options
  const key = deriveSealKey(chatKey, 'commits')
  const before = kept === null ? null : readKept(key, kept, generation)
  if (kept !== null && before === null) report('What was kept of the commits of the databases cannot be read')
  const isOlder = (name: DatabaseName) => before !== null && commits[name] < before.commits[name]
  for (const name of DATABASES)
    if (isOlder(name))
      report(
        `${name} was put back to an older copy: it has seen ${commits[name]} commits, and had seen ${before!.commits[name]}`,
      )
  const older = DATABASES.filter((name) => before?.older.includes(name) || isOlder(name) || damaged.includes(name))
  let last = ''
  return {
    older,
    seal(commits) {
      const text = JSON.stringify({ generation, commits, older } satisfies Kept)
      if (text === last) return null
      last = text
      return seal(key, new TextEncoder().encode(text), random)
    },
    close: () => wipe(key),
  }
}

function readKept(key: Uint8Array, sealed: Uint8Array, generation: string): Kept | null {
  const bytes = unseal(key, sealed)
  if (bytes === null) return null
  const kept = keptSchema.parse(JSON.parse(new TextDecoder().decode(bytes)))
  return kept.generation === generation ? kept : null
}
