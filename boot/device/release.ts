/** Release data of the image: /app/release.json, which the image's signature covers. */

import { readFileSync } from 'node:fs'
import * as z from 'zod'

const release = z.object({ product: z.string(), version: z.string(), rollbackFloor: z.string() })

export type Release = z.infer<typeof release>

export const readRelease = (path: string): Release => release.parse(JSON.parse(readFileSync(path, 'utf8')))
