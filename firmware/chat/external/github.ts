/** GitHub's webhooks. Contract section 3.5.2. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import {
  between,
  branchOf,
  type CodeSubject,
  commented,
  ofRepository,
  pushed,
  refChanged,
  released,
  subjectChanged,
  tagOf,
} from './code-host.ts'
import { COMMON, USER, verbOf } from './github-common.ts'
import { checkRun, deploymentStatus, workflowRun } from './github-runs.ts'
import {
  BRANCHES,
  type Integration,
  isWantedBranch,
  parse,
  type EventReader as Reader,
  readerOf,
} from './integration.ts'
import { bold, link, literal } from './text.ts'

const ISSUE = z.object({
  number: z.int(),
  title: z.string(),
  html_url: z.string(),
  body: z.string().nullish(),
  pull_request: z.unknown().optional(),
})
const PULL_REQUEST = z.object({
  number: z.int(),
  title: z.string(),
  html_url: z.string(),
  body: z.string().nullish(),
  merged: z.boolean().nullish(),
  head: z.object({ ref: z.string() }).nullish(),
  base: z.object({ ref: z.string() }).nullish(),
  // Gogs uses these names.
  head_branch: z.string().nullish(),
  base_branch: z.string().nullish(),
})
const COMMENT = z.object({ html_url: z.string(), body: z.string().nullish() })

const issueOf = ({ number, title, html_url: url, pull_request }: z.infer<typeof ISSUE>): CodeSubject => ({
  kind: pull_request == null ? 'issue' : 'PR',
  number,
  title,
  url,
})
const pullRequestOf = ({ number, title, html_url: url }: z.infer<typeof PULL_REQUEST>): CodeSubject => ({
  kind: 'PR',
  number,
  title,
  url,
})

const PUSH = z.object({
  repository: COMMON.repository,
  pusher: z.object({ name: z.string() }),
  sender: USER.nullish(),
  ref: z.string(),
  compare: z.string(),
  created: z.boolean(),
  deleted: z.boolean(),
  forced: z.boolean(),
  commits: z
    .array(
      z.object({
        id: z.string(),
        message: z.string(),
        url: z.string(),
        author: z.object({ name: z.string(), username: z.string().nullish() }),
      }),
    )
    .nullish(),
})

const push: Reader = (payload, options) => {
  const { repository, pusher, sender, ref, compare, created, deleted, forced, commits } = parse(PUSH, payload)
  const actor = sender?.login ?? pusher.name
  const tag = tagOf(ref)
  if (tag !== null)
    return refChanged(repository.name, actor, deleted ? 'deleted' : created ? 'created' : 'moved', 'tag', tag)
  const branch = branchOf(ref)
  if (branch === null || !isWantedBranch(branch, options)) return null
  if (deleted) return refChanged(repository.name, actor, 'deleted', 'branch', branch)
  return pushed({
    repository: repository.name,
    actor,
    branch,
    compareUrl: compare,
    isForced: forced,
    isNew: created,
    total: commits?.length ?? 0,
    commits: (commits ?? []).map(({ id, message, url, author }) => ({
      id,
      message,
      url,
      author: author.username ?? author.name,
    })),
  })
}

const REF = z.object({ ...COMMON, ref: z.string(), ref_type: z.string() })

const refEvent =
  (verb: 'created' | 'deleted'): Reader =>
  (payload) => {
    const { repository, sender, ref, ref_type: kind } = parse(REF, payload)
    return kind === 'branch' || kind === 'tag' ? refChanged(repository.name, sender.login, verb, kind, ref) : null
  }

const ISSUES = z.object({ ...COMMON, action: z.string(), issue: ISSUE })

const issues: Reader = (payload) => {
  const { action, repository, sender, issue } = parse(ISSUES, payload)
  const verb = verbOf('issues', action, ['opened', 'closed', 'reopened', 'deleted'], QUIET_OF_ISSUES)
  if (verb === null) return null
  const body = verb === 'opened' ? issue.body : null
  return subjectChanged(repository.name, sender.login, verb, issueOf(issue), { body })
}

const QUIET_OF_ISSUES = [
  ...['assigned', 'unassigned', 'labeled', 'unlabeled', 'edited', 'locked', 'unlocked', 'pinned', 'unpinned'],
  ...['milestoned', 'demilestoned', 'transferred', 'typed', 'untyped'],
]

const ISSUE_COMMENT = z.object({ ...ISSUES.shape, comment: COMMENT })

const issueComment: Reader = (payload) => {
  const { action, repository, sender, issue, comment } = parse(ISSUE_COMMENT, payload)
  if (verbOf('issue_comment', action, ['created'], ['edited', 'deleted']) === null) return null
  return commented(repository.name, sender.login, issueOf(issue), { url: comment.html_url, body: comment.body })
}

const PULL_REQUEST_EVENT = z.object({
  ...COMMON,
  action: z.string(),
  pull_request: PULL_REQUEST,
  requested_reviewer: USER.nullish(),
  requested_team: z.object({ name: z.string() }).nullish(),
})

const QUIET_OF_PULL_REQUESTS = [
  ...['assigned', 'unassigned', 'labeled', 'unlabeled', 'edited', 'synchronize', 'synchronized', 'locked', 'unlocked'],
  ...['review_request_removed', 'converted_to_draft', 'auto_merge_enabled', 'auto_merge_disabled', 'enqueued'],
  ...['dequeued', 'milestoned', 'demilestoned', 'label_updated', 'label_cleared', 'reviewed'],
]

const pullRequest: Reader = (payload) => {
  const { action, repository, sender, pull_request: request, ...event } = parse(PULL_REQUEST_EVENT, payload)
  const told = ['opened', 'closed', 'reopened', 'ready_for_review', 'review_requested']
  const verb = verbOf('pull_request', action, told, QUIET_OF_PULL_REQUESTS)
  if (verb === null) return null
  const subject = pullRequestOf(request)
  const change = (text: string, extra = {}) => subjectChanged(repository.name, sender.login, text, subject, extra)
  switch (verb) {
    case 'opened': {
      const from = request.head?.ref ?? request.head_branch
      const to = request.base?.ref ?? request.base_branch
      return change('opened', { tail: from && to ? between(from, to) : '', body: request.body })
    }
    case 'closed':
      return change(request.merged === true ? 'merged' : 'closed')
    case 'ready_for_review':
      return change('marked', { after: ' as ready for review' })
    case 'review_requested': {
      const reviewer = event.requested_reviewer?.login ?? event.requested_team?.name
      return change('requested a review of', { after: reviewer === undefined ? '' : ` by ${bold(reviewer)}` })
    }
    default:
      return change(verb)
  }
}

const REVIEW = z.object({
  ...COMMON,
  action: z.string(),
  pull_request: PULL_REQUEST,
  review: z.object({ state: z.string(), body: z.string().nullish(), html_url: z.string() }),
})

const review: Reader = (payload) => {
  const { action, repository, sender, pull_request: request, review } = parse(REVIEW, payload)
  if (verbOf('pull_request_review', action, ['submitted'], ['edited', 'dismissed']) === null) return null
  const state = review.state.toLowerCase()
  // A comment on a line has a separate event.
  if (state === 'commented' && (review.body ?? '').trim() === '') return null
  const said = { url: review.html_url, body: review.body }
  const about = (verb: string, preposition: string) =>
    commented(repository.name, sender.login, pullRequestOf(request), said, verb, preposition)
  if (state === 'changes_requested') return about('requested changes', ' to')
  return about(state === 'approved' ? 'approved' : 'reviewed', '')
}

const REVIEW_COMMENT = z.object({ ...COMMON, action: z.string(), pull_request: PULL_REQUEST, comment: COMMENT })

const reviewComment: Reader = (payload) => {
  const { action, repository, sender, pull_request: request, comment } = parse(REVIEW_COMMENT, payload)
  if (verbOf('pull_request_review_comment', action, ['created'], ['edited', 'deleted']) === null) return null
  const said = { url: comment.html_url, body: comment.body }
  return commented(repository.name, sender.login, pullRequestOf(request), said)
}

const RELEASE = z.object({
  ...COMMON,
  action: z.string(),
  release: z.object({
    tag_name: z.string(),
    name: z.string().nullish(),
    html_url: z.string().nullish(),
    body: z.string().nullish(),
  }),
})

const release: Reader = (payload) => {
  const { action, repository, sender, release } = parse(RELEASE, payload)
  // Only Gitea sends "updated".
  const quiet = ['created', 'edited', 'updated', 'prereleased', 'released', 'unpublished']
  const verb = verbOf('release', action, ['published', 'deleted'], quiet)
  if (verb === null) return null
  return released(
    repository.name,
    sender.login,
    verb as 'published' | 'deleted',
    { name: release.name ?? '', tag: release.tag_name, url: release.html_url },
    verb === 'published' ? release.body : null,
  )
}

const FORK = z.object({ ...COMMON, forkee: z.object({ full_name: z.string(), html_url: z.string() }) })

const fork: Reader = (payload) => {
  const { repository, sender, forkee } = parse(FORK, payload)
  return ofRepository(
    repository.name,
    `${bold(sender.login)} forked ${literal(repository.name)} to ${link(literal(forkee.full_name), forkee.html_url)}.`,
  )
}

const PING = z.object({
  zen: z.string().nullish(),
  repository: COMMON.repository.nullish(),
  organization: USER.nullish(),
})

const ping: Reader = (payload) => {
  const { repository, organization } = parse(PING, payload)
  const name = repository?.name ?? organization?.login ?? 'GitHub'
  return ofRepository(name, `A webhook of ${literal(name)} now sends here.`)
}

const READERS: Readonly<Record<string, Reader>> = {
  check_run: checkRun,
  create: refEvent('created'),
  delete: refEvent('deleted'),
  deployment_status: deploymentStatus,
  fork,
  issue_comment: issueComment,
  issues,
  ping,
  pull_request: pullRequest,
  pull_request_review: review,
  pull_request_review_comment: reviewComment,
  push,
  release,
  workflow_run: workflowRun,
}

/** Events with the same format in Gitea, Forgejo and Gogs. */
export const SHARED_READERS = {
  create: defined(READERS.create),
  delete: defined(READERS.delete),
  issue_comment: issueComment,
  issues,
  pull_request: pullRequest,
  release,
}

export const github: Integration = {
  name: 'github',
  displayName: 'GitHub',
  eventHeader: 'X-GitHub-Event',
  events: Object.keys(READERS),
  urlOptions: [BRANCHES],
  mentions: 'silent',
  read: readerOf(READERS),
}
