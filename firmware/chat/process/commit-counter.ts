/**
 * Counts the commits of each database, sealed by the chat key in the appliance's store. A database with fewer commits than stored was
 * replaced by an older copy, which the seals of its pages cannot reveal.
 */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../../crypto/seal.ts'
import { type Commits, DATABASES, type DatabaseName } from '../store/store.ts'

const keptSchema = z.object({
  generation: z.string(),
  commits: z.record(z.enum(DATABASES), z.int()),
  /** Stays set for the lifetime of the generation. */
  older: z.array(z.enum(DATABASES)),
})
type Kept = z.infer<typeof keptSchema>

export interface CommitCounter {
  /** Databases that were replaced by an older copy or truncated by damage, now or earlier. */
  readonly older: readonly DatabaseName[]
  /** Returns the state for the appliance to store; null if it is unchanged. */
  seal(commits: Commits): Uint8Array | null
  close(): void
}

interface CommitCounterOptions {
  generation: string
  chatKey: Uint8Array
  random: Random
  /** The state that the appliance has stored for this generation, and the present counts. */
  kept: Uint8Array | null
  commits: Commits
  /** Databases whose logs lost changes to damage. Those may be newer than the stored counts. */
  damaged: readonly DatabaseName[]
  report: (problem: string) => void
}

export function openCommitCounter(options: CommitCounterOptions): CommitCounter {
  const { generation, chatKey, random, kept, commits, damaged, report } = options
  const key = deriveSealKey(chatKey, 'commits')
  const before = kept === null ? null : readKept(key, kept, generation)
  if (kept !== null && before === null) report('cannot read the stored commit counts of the databases')
  const isOlder = (name: DatabaseName) => before !== null && commits[name] < before.commits[name]
  for (const name of DATABASES)
    if (isOlder(name))
      report(
        `${name} was put back to an older copy: ${commits[name]} commits instead of ${defined(before).commits[name]}`,
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
