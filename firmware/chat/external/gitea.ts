/** Webhooks of Gitea, and of Forgejo and Gogs, which use its format. Contract section 3.5.2. */

import { z } from 'zod'
import { branchOf, isNoCommit, pushed, refChanged, tagOf } from './code-host.ts'
import { SHARED_READERS } from './github.ts'
import { BRANCHES, type EventReader, type Integration, isWantedBranch, parse, readerOf } from './integration.ts'

const PUSH = z.object({
  ref: z.string(),
  before: z.string(),
  after: z.string(),
  compare_url: z.string().nullish(),
  total_commits: z.int().nonnegative().nullish(),
  repository: z.object({ name: z.string() }),
  pusher: z.object({ login: z.string().nullish(), username: z.string().nullish() }),
  commits: z
    .array(
      z.object({
        id: z.string(),
        message: z.string(),
        url: z.string().nullish(),
        author: z.object({ name: z.string(), username: z.string().nullish() }),
      }),
    )
    .nullish(),
})

const push: EventReader = (payload, options) => {
  const { ref, before, after, compare_url, total_commits, repository, pusher, commits } = parse(PUSH, payload)
  const actor = pusher.login || pusher.username || 'unknown'
  const isDeleted = isNoCommit(after)
  const tag = tagOf(ref)
  if (tag !== null) return refChanged(repository.name, actor, isDeleted ? 'deleted' : 'created', 'tag', tag)
  const branch = branchOf(ref)
  if (branch === null || !isWantedBranch(branch, options)) return null
  if (isDeleted) return refChanged(repository.name, actor, 'deleted', 'branch', branch)
  return pushed({
    repository: repository.name,
    actor,
    branch,
    compareUrl: compare_url,
    isNew: isNoCommit(before),
    total: Math.max(total_commits ?? 0, commits?.length ?? 0),
    commits: (commits ?? []).map(({ id, message, url, author }) => ({
      id,
      message,
      url,
      author: author.username || author.name,
    })),
  })
}

const READERS = { ...SHARED_READERS, push }

const likeGitea = (name: string, displayName: string): Integration => ({
  name,
  displayName,
  eventHeader: `X-${displayName}-Event`,
  events: Object.keys(READERS).sort(),
  urlOptions: [BRANCHES],
  mentions: 'silent',
  read: readerOf(READERS),
})

export const gitea = likeGitea('gitea', 'Gitea')
export const forgejo = likeGitea('forgejo', 'Forgejo')
export const gogs = likeGitea('gogs', 'Gogs')
