/** Members that GitLab's events share. Contract section 3.5.2. */

import { z } from 'zod'

export const PROJECT = z.object({ name: z.string(), web_url: z.string().nullish() })
export const USER = z.object({ name: z.string().nullish(), username: z.string().nullish() })

export const nameOf = ({ name, username }: z.infer<typeof USER>): string => username || name || 'unknown'
