/** Drafts. Contract rows E36 to E39. */

import { z } from 'zod'
import { nameString } from '../base/characters.ts'
import { integer, json } from '../pipeline/parameters.ts'
import { addDrafts, type DraftGiven, draftsOf, removeDraft, replaceDraft } from '../realm/organization/users/drafts.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const DRAFT = z.object({
  type: z.enum(['', 'stream', 'private']),
  to: z.array(z.int()).max(1000),
  topic: nameString(),
  content: z.string(),
  timestamp: z.number().optional(),
}) satisfies z.ZodType<DraftGiven>

export const draftDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/drafts',
    who: 'account',
    handle: ({ realm, me }) => {
      const drafts = draftsOf(realm, me)
      return { count: drafts.length, drafts }
    },
  }),
  declare({
    method: 'POST',
    path: '/drafts',
    who: 'account',
    parameters: { drafts: json(z.array(DRAFT)).default([]) },
    handle: ({ realm, me, input }) => ({ ids: addDrafts(realm, me, input.drafts) }),
  }),
  declare({
    method: 'PATCH',
    path: '/drafts/:draft_id',
    who: 'account',
    segments: { draft_id: integer() },
    parameters: { draft: json(DRAFT) },
    handle: ({ realm, me, path, input }) => {
      replaceDraft(realm, me, path.draft_id, input.draft)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/drafts/:draft_id',
    who: 'account',
    segments: { draft_id: integer() },
    handle: ({ realm, me, path }) => {
      removeDraft(realm, me, path.draft_id)
      return {}
    },
  }),
]
