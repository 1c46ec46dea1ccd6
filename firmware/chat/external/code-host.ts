/** Sentences common to all code hosts: pushes, branches, issues, merge requests, comments, releases. Contract section 3.5.2. */

import type { WebhookMessage } from './integration.ts'
import { bold, code, cut, firstLine, link, literal, oneLine, quote } from './text.ts'

const COMMITS_SHOWN_MAX = 20
const SHORT_HASH_CHARACTERS = 10
const REPOSITORY_CHARACTERS_MAX = 25 // leaves room for a number in a topic of 60

interface PushedCommit {
  readonly id: string
  readonly message: string
  readonly url?: string | null | undefined
  readonly author?: string | null | undefined
}

export interface Push {
  readonly repository: string
  readonly actor: string
  readonly branch: string
  readonly commits: readonly PushedCommit[]
  /** Number of all commits, including those that the payload omits. */
  readonly total: number
  readonly compareUrl?: string | null | undefined
  readonly isForced?: boolean
  readonly isNew?: boolean
}

const shortName = (repository: string): string => cut(oneLine(repository), REPOSITORY_CHARACTERS_MAX)

export const branchTopic = (repository: string, branch: string): string =>
  `${shortName(repository)} / ${oneLine(branch)}`

const subjectTopic = (repository: string, kind: 'issue' | 'PR' | 'MR', number: number, title: string): string =>
  `${shortName(repository)} / ${kind} #${number} ${oneLine(title)}`

/** `refs/heads/main` is the branch `main`; null for other refs. */
export const branchOf = (ref: string): string | null => after(ref, 'refs/heads/')
export const tagOf = (ref: string): string | null => after(ref, 'refs/tags/')

const after = (ref: string, start: string): string | null => (ref.startsWith(start) ? ref.slice(start.length) : null)

/** The all-zero hash stands for a ref that does not exist. */
export const isNoCommit = (hash: string): boolean => /^0{40,64}$/.test(hash)

export function pushed(push: Push): WebhookMessage {
  const { actor, branch, commits, total, compareUrl, isForced = false, isNew = false } = push
  const verb = isForced ? 'force-pushed' : 'pushed'
  const count = total === 1 ? '1 commit' : `${total} commits`
  const where = `${isNew ? 'new branch' : 'branch'} ${code(branch)}`
  const head =
    total === 0
      ? `${bold(actor)} ${isNew ? 'created' : verb} ${isNew ? 'branch' : 'to branch'} ${code(branch)}.`
      : `${bold(actor)} ${verb} ${link(count, compareUrl)} to ${where}.`
  const shown = commits.slice(0, COMMITS_SHOWN_MAX)
  const left = total - shown.length
  const lines = [...shown.map((commit) => commitLine(commit, actor)), ...(left > 0 ? [`* and ${left} more`] : [])]
  const list = total === 0 ? '' : `\n\n${lines.join('\n')}`
  return { topic: branchTopic(push.repository, branch), text: head + list }
}

function commitLine({ id, message, url, author }: PushedCommit, pusher: string): string {
  const by = author == null || author === pusher || author === '' ? '' : `, by ${literal(author)}`
  const hash = literal(id.slice(0, SHORT_HASH_CHARACTERS))
  return `* ${link(hash, url)} ${literal(firstLine(message))}${by}`
}

export const refChanged = (
  repository: string,
  actor: string,
  verb: 'created' | 'deleted' | 'moved',
  kind: 'branch' | 'tag',
  name: string,
): WebhookMessage => ({
  topic: kind === 'branch' ? branchTopic(repository, name) : shortName(repository),
  text: `${bold(actor)} ${verb} ${kind} ${code(name)}.`,
})

export interface CodeSubject {
  readonly kind: 'issue' | 'PR' | 'MR'
  readonly number: number
  readonly title: string
  readonly url: string
}

const subjectLink = ({ kind, number, url }: CodeSubject): string => link(`${kind} #${number}`, url)

const about = (repository: string, subject: CodeSubject, text: string): WebhookMessage => ({
  topic: subjectTopic(repository, subject.kind, subject.number, subject.title),
  text,
})

/** `verb` must be a word of ours. The body is shown only for a new object. */
export const subjectChanged = (
  repository: string,
  actor: string,
  verb: string,
  subject: CodeSubject,
  extra: { readonly after?: string; readonly tail?: string; readonly body?: string | null | undefined } = {},
): WebhookMessage =>
  about(
    repository,
    subject,
    `${bold(actor)} ${verb} ${subjectLink(subject)}${extra.after ?? ''}: ${literal(subject.title)}${extra.tail ?? ''}${quote(extra.body)}`,
  )

export const commented = (
  repository: string,
  actor: string,
  subject: CodeSubject,
  comment: { readonly url: string | null | undefined; readonly body: string | null | undefined },
  verb = 'commented',
  preposition = ' on',
): WebhookMessage =>
  about(
    repository,
    subject,
    `${bold(actor)} ${link(verb, comment.url)}${preposition} ${subjectLink(subject)}: ${literal(subject.title)}${quote(comment.body)}`,
  )

export const between = (from: string, to: string): string => ` (${code(from)} into ${code(to)})`

export const released = (
  repository: string,
  actor: string | null,
  verb: 'published' | 'changed' | 'deleted',
  release: { readonly name: string; readonly tag: string; readonly url?: string | null | undefined },
  body?: string | null,
): WebhookMessage => {
  const name = release.name.trim() === '' || release.name === release.tag ? '' : `: ${literal(release.name)}`
  const tag = code(release.tag)
  const sentence =
    actor === null
      ? `${link('Release', release.url)} ${tag} was ${verb}`
      : `${bold(actor)} ${verb} ${link('release', release.url)} ${tag}`
  return { topic: shortName(repository), text: `${sentence}${name}${quote(body)}` }
}

/** For events without a branch, issue or pull request. */
export const ofRepository = (repository: string, text: string): WebhookMessage => ({
  topic: shortName(repository),
  text,
})
