/** Requests of one item or of many. CONTRACT.md, "Batches". */

import { CofferError } from '../../base/error.ts'
import { isRefused } from '../pipeline/auditor.ts'
import { answer, invalid, TransitError } from './answers.ts'
import { batchOf, type Fields, integer, text } from './body.ts'

/** Items in the pool at a time, so that others take turns with a batch. */
const AT_ONCE = 64

interface BatchForm {
  /** Members of a failed item beside its error. */
  failed?: object
  /** Status when an item failed; the client may name another one. Without it, failures do not change the status. */
  failedStatus?: number
}

/** `act` returns the members of the answer for one item. */
export async function inBatches(
  body: Fields,
  act: (item: Fields) => Promise<object>,
  { failed = {}, failedStatus }: BatchForm = {},
) {
  const items = batchOf(body)
  if (items === null) return answer(await act(body))
  const failureStatus = failedStatus && statusIn(body, failedStatus)
  const results: object[] = []
  let hasFailed = false
  const one = async (item: Fields): Promise<object> => {
    const reference = text(item, 'reference') ?? ''
    try {
      return { ...(await act(item)), reference }
    } catch (error) {
      if (!isOfItem(error)) throw error
      hasFailed = true
      return { error: error.message, ...failed, reference }
    }
  }
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await allOf(items.slice(at, at + AT_ONCE).map(one))))
  return answer({ batch_results: results }, { status: (hasFailed && failureStatus) || 200 })
}

/** As `Promise.all`, but ends after all of them: what an item does is counted for the request as long as that runs. */
async function allOf(running: Promise<object>[]): Promise<object[]> {
  await Promise.allSettled(running)
  return Promise.all(running)
}

/** Throws for a status of refusals: the audit log would take the use of a key for one. */
function statusIn(body: Fields, normal: number): number {
  const wanted = integer(body, 'partial_failure_response_code')
  if (wanted === undefined || wanted < 200 || wanted > 599) return normal
  if (isRefused(wanted)) throw invalid(`partial_failure_response_code: ${wanted} is for refused requests only`)
  return wanted
}

/** Other errors end the whole request. */
const isOfItem = (error: unknown): error is Error =>
  (error instanceof TransitError && error.status === 400) || (error instanceof CofferError && error.code === 'invalid')
