/** GitLab's events of runs: pipelines and jobs. Contract section 3.5.2. */

import { z } from 'zod'
import { branchTopic } from './code-host.ts'
import { PROJECT } from './gitlab-common.ts'
import { parse, type EventReader as Reader } from './integration.ts'
import { code, link, literal } from './text.ts'

/** Final statuses of pipelines and jobs. Others are not reported. */
const ENDS: Readonly<Record<string, string>> = {
  success: 'succeeded',
  failed: 'failed',
  canceled: 'was canceled',
  skipped: 'was skipped',
}

const endOf = (status: string): string | undefined => (Object.hasOwn(ENDS, status) ? ENDS[status] : undefined)

const PIPELINE = z.object({
  project: PROJECT,
  object_attributes: z.object({
    id: z.int(),
    ref: z.string(),
    sha: z.string(),
    status: z.string(),
    url: z.string().nullish(),
  }),
  builds: z.array(z.object({ name: z.string(), status: z.string() })).nullish(),
})

const FAILED_JOBS_SHOWN_MAX = 10

export const pipeline: Reader = (payload) => {
  const { project, object_attributes: about, builds } = parse(PIPELINE, payload)
  const end = endOf(about.status)
  if (end === undefined) return null
  const url = about.url ?? (project.web_url == null ? null : `${project.web_url}/-/pipelines/${about.id}`)
  const failed = (builds ?? []).filter(({ status }) => status === 'failed').slice(0, FAILED_JOBS_SHOWN_MAX)
  const jobs = failed.length === 0 ? '' : ` Failed: ${failed.map(({ name }) => literal(name)).join(', ')}.`
  const text = `${link(`Pipeline #${about.id}`, url)} ${end} on ${code(about.ref)} (${code(about.sha.slice(0, 10))}).${jobs}`
  return { topic: branchTopic(project.name, about.ref), text }
}

const JOB = z.object({
  ref: z.string(),
  sha: z.string(),
  build_id: z.int(),
  build_name: z.string(),
  build_stage: z.string(),
  build_status: z.string(),
  project: PROJECT.nullish(),
  repository: z.object({ name: z.string(), homepage: z.string().nullish() }),
})

export const job: Reader = (payload) => {
  const { ref, sha, project, repository, ...build } = parse(JOB, payload)
  const end = endOf(build.build_status)
  if (end === undefined) return null
  const name = project?.name ?? repository.name
  const home = project?.web_url ?? repository.homepage
  const url = home == null ? null : `${home}/-/jobs/${build.build_id}`
  const text = `${link(`Job #${build.build_id}`, url)} ${literal(build.build_name)} of stage ${literal(build.build_stage)} ${end} on ${code(ref)} (${code(sha.slice(0, 10))}).`
  return { topic: branchTopic(name, ref), text }
}
