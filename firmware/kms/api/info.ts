/** Who made this, and how it is: `/info` and `/health`. Contract section 3.1. */

import * as z from 'zod'
import { STATES } from '../../base/states.ts'
import type { EtcdService } from '../../cluster/etcd/service.ts'
import type { Replica } from '../../cluster/replica/replica.ts'
import { declare, type Services } from './services.ts'

const info = z.object({ vendor: z.string(), product: z.string() }).meta({ id: 'Info' })
const healthState = z.object({ state: z.enum(STATES) }).meta({ id: 'HealthState' })
const diagnose = z
  .object({
    clusterLogs: z.array(z.object({ level: z.string(), msg: z.string() })),
    clusterState: z.object({ running: z.boolean(), exited: z.int().optional(), signaled: z.int().optional() }),
  })
  .meta({ id: 'Diagnose' })

type Line = { level: string; msg: string }

function clusterLines({ replica, members }: Services['appliance'], etcd: EtcdService | undefined): Line[] {
  const { spaceProblem } = members
  const warnings = (etcd?.warnings() ?? []).map((msg) => ({ level: 'warning', msg }))
  return [
    stateLine(replica, etcd?.state.running ?? false),
    ...(spaceProblem === null ? [] : [{ level: 'error', msg: spaceProblem }]),
    ...warnings,
  ]
}

function stateLine(replica: Replica | null, isRunning: boolean): Line {
  if (replica === null)
    return { level: 'info', msg: isRunning ? 'The records are not open' : 'A single node: there is no cluster process' }
  const { refusal, state, lostMs, behindMs, trouble } = replica
  if (refusal !== null) return { level: 'error', msg: refusal }
  if (lostMs > 0)
    return { level: 'warning', msg: `The other nodes have not answered for ${Math.round(lostMs / 1000)} seconds` }
  if (trouble !== null)
    return { level: 'error', msg: `Not following the others for ${Math.round(behindMs / 1000)} seconds: ${trouble}` }
  return { level: 'info', msg: `This node is ${state === 'following' ? 'following the others' : 'catching up'}` }
}

export const infoDeclarations = [
  declare({
    method: 'GET',
    path: '/info',
    summary: 'Vendor and product.',
    states: STATES,
    access: 'public',
    version: ({ services: { info } }) => JSON.stringify([info.vendor, info.product]),
    answers: { status: 200, json: info },
    handle: ({ services: { info } }) => ({ status: 200, json: { vendor: info.vendor, product: info.product } }),
  }),
  declare({
    method: 'GET',
    path: '/health/alive',
    summary: 'Answers while the appliance waits to be provisioned or unlocked.',
    states: ['Unprovisioned', 'Locked'],
    access: 'public',
    noCache: true,
    answers: { status: 200, empty: true },
    handle: () => ({ status: 200 }),
  }),
  declare({
    method: 'GET',
    path: '/health/ready',
    summary: 'Answers while the appliance is Operational.',
    states: ['Operational'],
    access: 'public',
    noCache: true,
    answers: { status: 200, empty: true },
    handle: () => ({ status: 200 }),
  }),
  declare({
    method: 'GET',
    path: '/health/state',
    summary: 'The state of the appliance.',
    states: STATES,
    access: 'public',
    noCache: true,
    answers: { status: 200, json: healthState },
    handle: ({ services }) => ({ status: 200, json: { state: services.appliance.state } }),
  }),
  declare({
    method: 'GET',
    path: '/health/diagnose',
    summary: 'What the cluster process says, of which a single node has none, and why the appliance is Failed.',
    states: STATES,
    access: { roles: ['Administrator'], scope: 'root', publicIn: ['Unprovisioned', 'Locked', 'Failed'] },
    noCache: true,
    answers: { status: 200, json: diagnose },
    handle: ({ services: { appliance, etcd } }) => ({
      status: 200,
      json: {
        clusterLogs: [
          ...clusterLines(appliance, etcd),
          ...(appliance.state === 'Failed' ? [{ level: 'error', msg: appliance.failure ?? 'Failed' }] : []),
        ],
        clusterState: etcd?.state ?? { running: false },
      },
    }),
  }),
]
