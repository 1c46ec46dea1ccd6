/** `/config/interfaces`: switches APIs beside NetHSM's. Contract section 3.4. */

import * as z from 'zod'
import { integer } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const TOKEN_HOURS_MAX = 768 // OpenBao's longest

const interfaces = z
  .strictObject({ transit: z.enum(['on', 'off']), tokenHours: integer(1, TOKEN_HOURS_MAX) })
  .meta({ id: 'Interfaces', examples: [{ transit: 'on', tokenHours: 24 }] })

const show = ({ services }: { services: Services }) => services.appliance.configuration.interfaces
const version = (request: { services: Services }) => `interfaces ${JSON.stringify(show(request))}`

export const configInterfacesDeclarations = [
  declare({
    method: 'GET',
    path: '/config/interfaces',
    summary: "APIs that are served beside NetHSM's, and the lifetime of their tokens.",
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    answers: { status: 200, json: interfaces },
    handle: (request) => ({ status: 200, json: show(request) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/interfaces',
    summary: "Switches APIs beside NetHSM's on or off.",
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    creates: true,
    body: { kind: 'json', schema: interfaces },
    facts: ({ body }) => ({ transit: body.transit, tokenHours: String(body.tokenHours) }),
    answers: EMPTY,
    handle: ({ services, caller, body }) => {
      services.appliance.configuration.setInterfaces(body)
      const tokens = `tokens of ${body.tokenHours} hours`
      services.log.info('general', `transit API ${body.transit}, ${tokens}, by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
