/** `/config/vocabulary`: member names in answers. Contract sections 3.4 and 5 (row 23). */

import * as z from 'zod'
import { MEMBERS } from '../../configuration/vocabulary.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const vocabulary = z
  .strictObject({
    members: z.enum(MEMBERS).meta({
      description:
        "The reference's and the original ones together, or exactly those of one, for clients that refuse others.",
    }),
  })
  .meta({ id: 'Vocabulary', examples: [{ members: 'reference' }] })

const show = ({ services }: { services: Services }) => ({ members: services.appliance.configuration.members })
const version = (request: { services: Services }) => `vocabulary ${show(request).members}`

export const configVocabularyDeclarations = [
  declare({
    method: 'GET',
    path: '/config/vocabulary',
    summary: 'Which members answers about keys have.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    answers: { status: 200, json: vocabulary },
    handle: (request) => ({ status: 200, json: show(request) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/vocabulary',
    summary: 'Sets which members answers about keys have.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    creates: true,
    body: { kind: 'json', schema: vocabulary },
    facts: ({ body }) => ({ members: body.members }),
    answers: EMPTY,
    errors: { 400: 'Not one of the three words.' },
    handle: ({ services, caller, body: { members } }) => {
      services.appliance.configuration.setMembers(members)
      services.log.info('general', `vocabulary ${members} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
