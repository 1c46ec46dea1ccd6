/** GitHub's events of runs: workflows, checks, deployments. Contract section 3.5.2. */

import { z } from 'zod'
import { branchTopic, ofRepository } from './code-host.ts'
import { COMMON, verbOf } from './github-common.ts'
import { parse, type EventReader as Reader } from './integration.ts'
import { code, link, literal, quote } from './text.ts'

const CONCLUSIONS: Readonly<Record<string, string>> = {
  success: 'succeeded',
  failure: 'failed',
  cancelled: 'was canceled',
  timed_out: 'timed out',
  action_required: 'needs an action',
  skipped: 'was skipped',
  neutral: 'ended',
  stale: 'became stale',
  startup_failure: 'could not start',
}

const ended = (conclusion: string | null | undefined): string =>
  (conclusion != null && Object.hasOwn(CONCLUSIONS, conclusion) && CONCLUSIONS[conclusion]) || 'ended'

const WORKFLOW_RUN = z.object({
  ...COMMON,
  action: z.string(),
  workflow_run: z.object({
    name: z.string().nullish(),
    run_number: z.int(),
    html_url: z.string(),
    conclusion: z.string().nullish(),
    head_branch: z.string().nullish(),
    head_sha: z.string(),
  }),
})

export const workflowRun: Reader = (payload) => {
  const { action, repository, workflow_run: run } = parse(WORKFLOW_RUN, payload)
  if (verbOf('workflow_run', action, ['completed'], ['requested', 'in_progress']) === null) return null
  const where = run.head_branch == null ? '' : ` on ${code(run.head_branch)}`
  const text = `${literal(run.name ?? 'workflow')} ${link(`run #${run.run_number}`, run.html_url)} ${ended(run.conclusion)}${where} (${code(run.head_sha.slice(0, 10))}).`
  return run.head_branch == null
    ? ofRepository(repository.name, text)
    : { topic: branchTopic(repository.name, run.head_branch), text }
}

const CHECK_RUN = z.object({
  ...COMMON,
  action: z.string(),
  check_run: z.object({
    name: z.string(),
    html_url: z.string().nullish(),
    head_sha: z.string(),
    conclusion: z.string().nullish(),
  }),
})

export const checkRun: Reader = (payload) => {
  const { action, repository, check_run: run } = parse(CHECK_RUN, payload)
  const quiet = ['created', 'rerequested', 'requested_action']
  if (verbOf('check_run', action, ['completed'], quiet) === null) return null
  const text = `${link('Check', run.html_url)} ${literal(run.name)} ${ended(run.conclusion)} for ${code(run.head_sha.slice(0, 10))}.`
  return ofRepository(repository.name, text)
}

const DEPLOYMENT_STATUS = z.object({
  ...COMMON,
  deployment: z.object({ ref: z.string(), environment: z.string() }),
  deployment_status: z.object({
    state: z.string(),
    description: z.string().nullish(),
    target_url: z.string().nullish(),
  }),
})

export const deploymentStatus: Reader = (payload) => {
  const { repository, deployment, deployment_status: status } = parse(DEPLOYMENT_STATUS, payload)
  const text = `${link('Deployment', status.target_url)} of ${code(deployment.ref)} to ${literal(deployment.environment)} is now: ${literal(status.state.replaceAll('_', ' '))}.`
  return ofRepository(repository.name, `${text}${quote(status.description)}`)
}
