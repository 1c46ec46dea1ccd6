/** `/system`: information, restart, shutdown, factory reset. Contract sections 3.5 and 4.8. */

import * as z from 'zod'
import { STATES } from '../../base/states.ts'
import type { EndpointAccess } from '../pipeline/endpoint.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const NOT_APPLICABLE = 'N/A'

/** API version of the reference. Published clients refuse to work with a lower one. */
const API_VERSION = '5.0'

const systemInfo = z
  .object({
    softwareVersion: z.string(),
    softwareBuild: z.string(),
    firmwareVersion: z.string(),
    hardwareVersion: z.string(),
    deviceId: z.string(),
    akPub: z.record(z.string(), z.string()),
    pcr: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SystemInfo' })

/** Extension of the reference with an answer of its own: contract section 5, row 23. */
const systemSoftware = z
  .object({
    version: z.string().meta({ description: 'Of this software.' }),
    build: z.string().meta({ description: 'Tells builds of one version apart.' }),
    rsaEngine: z.string().meta({ description: 'The RSA arithmetic in use, and why.' }),
    updateFallback: z
      .string()
      .optional()
      .meta({ description: 'Which version was tried last and why it was rolled back, if it was.' }),
  })
  .meta({ id: 'SystemSoftware' })

function describe({ info, appliance }: Services): z.infer<typeof systemInfo> {
  return {
    softwareVersion: API_VERSION,
    softwareBuild: `coffer-${info.version}`,
    firmwareVersion: NOT_APPLICABLE,
    hardwareVersion: NOT_APPLICABLE,
    deviceId: appliance.deviceId,
    akPub: {},
    pcr: {},
  }
}

const describeSoftware = ({ info }: Services): z.infer<typeof systemSoftware> => ({
  version: info.version,
  build: info.build ?? NOT_APPLICABLE,
  rsaEngine: info.engine ?? NOT_APPLICABLE,
  ...(info.fallback && { updateFallback: info.fallback }),
})

/** In state Failed all clients may restart and reset the appliance, because it cannot authenticate them. */
const OPEN_IN_FAILED: EndpointAccess = { ...ROOT_ADMINISTRATORS, publicIn: ['Failed'] }

export const systemDeclarations = [
  declare({
    method: 'GET',
    path: '/system/info',
    summary: 'Versions and identity of the appliance.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ({ services }) => JSON.stringify(describe(services)),
    answers: { status: 200, json: systemInfo },
    handle: ({ services }) => ({ status: 200, json: describe(services) }),
  }),
  declare({
    method: 'GET',
    path: '/system/software',
    summary: 'How the software runs: its arithmetic, and what became of the last update.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ({ services }) => JSON.stringify(describeSoftware(services)),
    answers: { status: 200, json: systemSoftware },
    handle: ({ services }) => ({ status: 200, json: describeSoftware(services) }),
  }),
  declare({
    method: 'POST',
    path: '/system/reboot',
    summary: 'Restarts the appliance.',
    isDoneUnrecorded: true,
    states: ['Operational', 'Failed'],
    access: OPEN_IN_FAILED,
    noCache: true,
    answers: EMPTY,
    handle: ({ services, caller }) => act(services, 'reboot', caller?.userId),
  }),
  declare({
    method: 'POST',
    path: '/system/shutdown',
    summary: 'Shuts the appliance down.',
    isDoneUnrecorded: true,
    states: STATES,
    access: { ...ROOT_ADMINISTRATORS, publicIn: ['Unprovisioned', 'Locked', 'Failed'] },
    noCache: true,
    answers: EMPTY,
    handle: ({ services, caller }) => act(services, 'shutdown', caller?.userId),
  }),
  declare({
    method: 'POST',
    path: '/system/factory-reset',
    summary: 'Leaves the cluster, erases everything, the device key first, and restarts.',
    isDoneUnrecorded: true,
    states: ['Operational', 'Failed'],
    access: OPEN_IN_FAILED,
    noCache: true,
    answers: EMPTY,
    handle: ({ services, caller }) => act(services, 'factoryReset', caller?.userId),
  }),
]

/** The boot manager waits for pending answers, including this one, before it acts. */
async function act(
  { appliance, bootManager, log }: Services,
  action: 'reboot' | 'shutdown' | 'factoryReset',
  by: string | undefined,
) {
  log.info('general', `${action} requested by ${by ?? 'a client without credentials'}`)
  const request = () => bootManager.request(action)
  await (action === 'factoryReset' ? appliance.cluster.leaving.leave(request) : request())
  return { status: 204 } as const
}
