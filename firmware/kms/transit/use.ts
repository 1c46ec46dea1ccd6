/** Parts of the endpoints that use a key. CONTRACT.md, "Audit". */

import { CofferError } from '../../base/error.ts'
import { declare, domainOf, OPERATIONAL, OPERATORS } from '../api/services.ts'
import type { Result } from '../pipeline/endpoint.ts'
import { ANSWER, denied } from './answers.ts'
import { countItems, type Fields, jsonBody } from './body.ts'
import { awaitKey, findKey, type OfKey } from './keys.ts'
import { namesUnusable } from './versions.ts'

export type UseRequest = OfKey & { address: string; body: Fields }

interface Use {
  path: string
  summary: string
  handle: (request: UseRequest) => Promise<Result>
}

/** An endpoint that uses a key for one item or many, which share a line of the log. */
export const declareUse = ({ handle, ...about }: Use) =>
  declare({
    ...about,
    method: 'POST',
    states: OPERATIONAL,
    access: OPERATORS,
    audit: 'use',
    prepare: awaitKey,
    body: jsonBody,
    answers: ANSWER,
    facts: (request) => ({ ...countItems(request), version: versionsUsed(request) }),
    handle: async (request) => {
      await awaitVersions(request)
      return domainOf(request).keyUse.inOneLine(request, async () => handle(request))
    },
  })

/** Before a version is refused, earlier changes of other nodes arrive: contract section 3.6. Once for all items of a batch. */
async function awaitVersions(request: UseRequest): Promise<void> {
  const { replica } = request.services.appliance
  if (replica === null) return
  const key = findKey(request, (request.params as { name: string }).name)
  if (key === undefined) return
  const { batch_input } = request.body
  const items = Array.isArray(batch_input) ? batch_input : [request.body]
  if (items.some((item) => namesUnusable(key.entry, item))) await replica.barrier()
}

/** Lowest and highest version that a request has used. */
const used = new WeakMap<object, { min: number; max: number }>()

/** For the audit log. */
export function noteVersion(request: UseRequest, version: number): void {
  const { min, max } = used.get(request) ?? { min: version, max: version }
  used.set(request, { min: Math.min(min, version), max: Math.max(max, version) })
}

/** Undefined if the request ended before it was known. */
function versionsUsed(request: object): string | undefined {
  const versions = used.get(request)
  if (versions === undefined) return undefined
  return versions.min === versions.max ? `${versions.min}` : `${versions.min}-${versions.max}`
}

/** Throws unless the key's tags let the caller use it, with the reason. */
export function expectTags(request: UseRequest, name: string, action: 'sign' | 'encrypt' | 'decrypt'): void {
  try {
    domainOf(request).keyUse.authorize(request, name, action)
  } catch (error) {
    throw error instanceof CofferError && error.code === 'forbidden' ? denied(error.message) : error
  }
}
