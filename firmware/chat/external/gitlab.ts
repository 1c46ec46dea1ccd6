/** GitLab's webhooks of projects. Contract section 3.5.2. */

import { z } from 'zod'
import {
  between,
  branchOf,
  type CodeSubject,
  commented,
  isNoCommit,
  ofRepository,
  pushed,
  refChanged,
  released,
  subjectChanged,
  tagOf,
} from './code-host.ts'
import { nameOf, PROJECT, USER } from './gitlab-common.ts'
import { job, pipeline } from './gitlab-runs.ts'
import {
  BRANCHES,
  type Integration,
  isWantedBranch,
  parse,
  type EventReader as Reader,
  readerOf,
  UnsupportedEvent,
} from './integration.ts'
import { bold, firstLine, link, literal, quote } from './text.ts'

const PUSH = z.object({
  ref: z.string(),
  before: z.string(),
  after: z.string(),
  user_name: z.string().nullish(),
  user_username: z.string().nullish(),
  project: PROJECT,
  total_commits_count: z.int().nonnegative().nullish(),
  commits: z
    .array(z.object({ id: z.string(), message: z.string(), url: z.string().nullish(), author: USER.nullish() }))
    .nullish(),
})

const push: Reader = (payload, options) => {
  const { ref, before, after, project, commits, ...event } = parse(PUSH, payload)
  const actor = nameOf({ name: event.user_name, username: event.user_username })
  const branch = branchOf(ref)
  if (branch === null || !isWantedBranch(branch, options)) return null
  if (isNoCommit(after)) return refChanged(project.name, actor, 'deleted', 'branch', branch)
  const shown = commits ?? []
  return pushed({
    repository: project.name,
    actor,
    branch,
    compareUrl: project.web_url == null ? null : `${project.web_url}/-/compare/${before}...${after}`,
    isNew: isNoCommit(before),
    total: Math.max(event.total_commits_count ?? 0, shown.length),
    commits: shown.map(({ id, message, url, author }) => ({
      id,
      message,
      url,
      author: author?.name === event.user_name ? actor : author?.name, // commits name their authors without user names
    })),
  })
}

const tagPush: Reader = (payload) => {
  const { ref, before, after, project, ...event } = parse(PUSH, payload)
  const tag = tagOf(ref)
  if (tag === null) return null
  const actor = nameOf({ name: event.user_name, username: event.user_username })
  const verb = isNoCommit(after) ? 'deleted' : isNoCommit(before) ? 'created' : 'moved'
  return refChanged(project.name, actor, verb, 'tag', tag)
}

const ISSUE = z.object({
  user: USER,
  project: PROJECT,
  object_attributes: z.object({
    iid: z.int(),
    title: z.string(),
    url: z.string().nullish(),
    action: z.string().nullish(),
    description: z.string().nullish(),
  }),
})

const VERBS: Readonly<Record<string, string>> = {
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
  merge: 'merged',
  approved: 'approved',
  unapproved: 'took back the approval of',
}
/** Not reported: "approval" and "unapproval" occur once for each required approval. */
const QUIET = ['update', 'approval', 'unapproval']

/** Maps the action to a verb; null for one that is not reported. An object without an action is a test from GitLab's settings. */
function verbOf(event: string, action: string | null | undefined): string | null {
  if (action == null) return 'opened'
  const verb = Object.hasOwn(VERBS, action) ? VERBS[action] : undefined
  if (verb !== undefined) return verb
  if (QUIET.includes(action)) return null
  throw new UnsupportedEvent(event, action)
}

const issue =
  (event: string): Reader =>
  (payload) => {
    const { user, project, object_attributes: about } = parse(ISSUE, payload)
    const verb = verbOf(event, about.action)
    if (verb === null) return null
    const body = verb === 'opened' ? about.description : null
    return subjectChanged(project.name, nameOf(user), verb, subjectOf('issue', about), { body })
  }

const subjectOf = (
  kind: CodeSubject['kind'],
  { iid, title, url }: { iid: number; title: string; url?: string | null | undefined },
): CodeSubject => ({ kind, number: iid, title, url: url ?? '' })

const MERGE_REQUEST = z.object({
  user: USER,
  project: PROJECT,
  object_attributes: ISSUE.shape.object_attributes.extend({ source_branch: z.string(), target_branch: z.string() }),
})

const mergeRequest: Reader = (payload) => {
  const { user, project, object_attributes: about } = parse(MERGE_REQUEST, payload)
  const verb = verbOf('Merge Request Hook', about.action)
  if (verb === null) return null
  const extra =
    verb === 'opened' ? { tail: between(about.source_branch, about.target_branch), body: about.description } : {}
  return subjectChanged(project.name, nameOf(user), verb, subjectOf('MR', about), extra)
}

const TITLED = z.object({ iid: z.int(), title: z.string(), url: z.string().nullish() })

const NOTE = z.object({
  user: USER,
  project: PROJECT,
  object_attributes: z.object({
    note: z.string(),
    noteable_type: z.string(),
    url: z.string().nullish(),
    action: z.string().nullish(),
  }),
  issue: TITLED.nullish(),
  merge_request: TITLED.nullish(),
  commit: z.object({ id: z.string(), message: z.string(), url: z.string().nullish() }).nullish(),
  snippet: z.object({ id: z.int(), title: z.string(), url: z.string().nullish() }).nullish(),
})

const note =
  (event: string): Reader =>
  (payload) => {
    const { user, project, object_attributes: said, ...about } = parse(NOTE, payload)
    if (said.action === 'update') return null
    const comment = { url: said.url, body: said.note }
    if (about.issue != null) return commented(project.name, nameOf(user), subjectOf('issue', about.issue), comment)
    if (about.merge_request != null)
      return commented(project.name, nameOf(user), subjectOf('MR', about.merge_request), comment)
    const start = `${bold(nameOf(user))} ${link('commented', said.url)} on`
    if (about.commit != null) {
      const { id, url, message } = about.commit
      const commit = `commit ${link(literal(id.slice(0, 10)), url)} ${literal(firstLine(message))}`
      return ofRepository(project.name, `${start} ${commit}${quote(said.note)}`)
    }
    if (about.snippet != null) {
      const { id, url, title } = about.snippet
      return ofRepository(project.name, `${start} ${link(`snippet $${id}`, url)}: ${literal(title)}${quote(said.note)}`)
    }
    throw new UnsupportedEvent(event, said.noteable_type)
  }

const RELEASE = z.object({
  action: z.string(),
  name: z.string(),
  tag: z.string(),
  url: z.string().nullish(),
  description: z.string().nullish(),
  project: PROJECT,
})

const RELEASE_VERBS: Readonly<Record<string, 'published' | 'changed' | 'deleted'>> = {
  create: 'published',
  update: 'changed',
  delete: 'deleted',
}

const release: Reader = (payload) => {
  const { action, name, tag, url, description, project } = parse(RELEASE, payload)
  const verb = Object.hasOwn(RELEASE_VERBS, action) ? RELEASE_VERBS[action] : undefined
  if (verb === undefined) throw new UnsupportedEvent('Release Hook', action)
  return released(project.name, null, verb, { name, tag, url }, verb === 'published' ? description : null)
}

const WIKI_PAGE = z.object({
  user: USER,
  project: PROJECT,
  object_attributes: z.object({
    title: z.string(),
    url: z.string().nullish(),
    action: z.string(),
    message: z.string().nullish(),
  }),
})

const WIKI_VERBS: Readonly<Record<string, string>> = { create: 'created', update: 'changed', delete: 'deleted' }

const wikiPage: Reader = (payload) => {
  const { user, project, object_attributes: page } = parse(WIKI_PAGE, payload)
  const verb = Object.hasOwn(WIKI_VERBS, page.action) ? WIKI_VERBS[page.action] : undefined
  if (verb === undefined) throw new UnsupportedEvent('Wiki Page Hook', page.action)
  const text = `${bold(nameOf(user))} ${verb} wiki page ${link(literal(page.title), page.url)}`
  return ofRepository(project.name, `${text}${quote(page.message)}`)
}

const READERS: Readonly<Record<string, Reader>> = {
  'Push Hook': push,
  'Tag Push Hook': tagPush,
  'Issue Hook': issue('Issue Hook'),
  'Confidential Issue Hook': issue('Confidential Issue Hook'),
  'Note Hook': note('Note Hook'),
  'Confidential Note Hook': note('Confidential Note Hook'),
  'Merge Request Hook': mergeRequest,
  'Pipeline Hook': pipeline,
  'Job Hook': job,
  'Release Hook': release,
  'Wiki Page Hook': wikiPage,
}

export const gitlab: Integration = {
  name: 'gitlab',
  displayName: 'GitLab',
  eventHeader: 'X-Gitlab-Event',
  events: Object.keys(READERS),
  urlOptions: [BRANCHES],
  mentions: 'silent',
  read: readerOf(READERS),
}
