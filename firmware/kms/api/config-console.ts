/** `/config/console`: switches the web console on and off. Contract section 3.4. */

import { CofferError } from '../../base/error.ts'
import { onOff } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

/** The web console is on only if both the start options and the Administrators allow it. */
export const isConsoleOn = ({ console, appliance }: Services): boolean => console && appliance.configuration.console

const show = ({ services }: { services: Services }) => ({ status: isConsoleOn(services) ? 'on' : 'off' })
const version = (request: { services: Services }) => `console ${show(request).status}`

export const configConsoleDeclarations = [
  declare({
    method: 'GET',
    path: '/config/console',
    summary: 'Whether the page for browsers is served.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    answers: { status: 200, json: onOff },
    handle: (request) => ({ status: 200, json: show(request) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/console',
    summary: 'Switches the page for browsers on or off.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    creates: true,
    body: { kind: 'json', schema: onOff },
    facts: ({ body }) => ({ status: body.status }),
    answers: EMPTY,
    errors: { 412: 'The setting `COFFER_CONSOLE` has switched the page off.' },
    handle: ({ services, caller, body: { status } }) => {
      if (status === 'on' && !services.console)
        throw new CofferError('unavailable', 'The page is switched off by the setting COFFER_CONSOLE')
      services.appliance.configuration.setConsole(status === 'on')
      services.log.info('general', `console ${status} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
