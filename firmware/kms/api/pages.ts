/** Queries for lists that give details page by page. */

import { z } from 'zod'
import { count } from './schema.ts'

export const PAGE_MAX = 1000
export const PAGE_DEFAULT = 100

/** `noun`: the entries of the list. `content`: their details. */
export const pageQuery = <Id extends z.ZodString>(id: Id, noun: string, content: string) => ({
  details: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: `With \`true\`: a page of ${noun} with ${content}.`, examples: ['true'] }),
  limit: count(PAGE_MAX)
    .optional()
    .meta({ description: `With details: at most so many ${noun}, up to ${PAGE_MAX}; ${PAGE_DEFAULT} by default.` }),
  after: id.optional().meta({ description: `With details: only ${noun} after this id, \`next\` of the page before.` }),
})

interface PageQuery {
  details?: string | undefined
  limit?: string | undefined
  after?: string | undefined
}

export const isPageQuery = ({ details, limit, after }: PageQuery): boolean =>
  details === 'true' || (limit === undefined && after === undefined)

export const NO_PAGE = 'limit and after go with details=true'
