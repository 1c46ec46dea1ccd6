/** `/random`. Contract section 3.1. */

import * as z from 'zod'
import { encodeBase64 } from '../../base/base64.ts'
import { wipe } from '../../base/secret.ts'
import { base64Text, integer } from './schema.ts'
import { declare, OPERATIONAL, OPERATORS } from './services.ts'

const RANDOM_BYTES_MAX = 1024 // contract 4.2

export const randomDeclarations = [
  declare({
    method: 'POST',
    path: '/random',
    summary: 'Random bytes from the operating system.',
    states: OPERATIONAL,
    access: OPERATORS,
    noCache: true,
    audit: 'none',
    body: {
      kind: 'json',
      schema: z
        .strictObject({ length: integer(1, RANDOM_BYTES_MAX) })
        .meta({ id: 'RandomRequest', examples: [{ length: 32 }] }),
    },
    answers: { status: 200, json: z.object({ random: base64Text }).meta({ id: 'Random' }) },
    errors: { 400: `The length is not 1 to ${RANDOM_BYTES_MAX}.` },
    handle: ({ services, body }) => {
      const bytes = services.random(body.length)
      try {
        return { status: 200, json: { random: encodeBase64(bytes) } }
      } finally {
        wipe(bytes)
      }
    },
  }),
]
