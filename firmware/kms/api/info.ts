/** `/info` and `/health`: vendor, version and state. Contract section 3.1. */

import * as z from 'zod'
import { type DiskState, describeDisk } from '../../base/disk-space.ts'
import { CofferError } from '../../base/error.ts'
import { STATES } from '../../base/states.ts'
import type { EtcdService } from '../../cluster/etcd/service.ts'
import type { Replica } from '../../cluster/replica/replica.ts'
import { integer } from './schema.ts'
import { declare, type Services } from './services.ts'

const info = z.object({ vendor: z.string(), product: z.string() }).meta({ id: 'Info' })
const healthState = z.object({ state: z.enum(STATES) }).meta({ id: 'HealthState' })
const exitNumber = integer(0, 255) // POSIX.1 XCU section 2.8.2
const diagnose = z
  .object({
    clusterLogs: z.array(z.object({ level: z.string(), msg: z.string() })),
    clusterState: z.object({
      running: z.boolean(),
      exited: exitNumber.optional(),
      signaled: exitNumber.optional(),
      stopped: exitNumber.optional().meta({ description: 'Of the reference; never sent.' }),
    }),
  })
  .meta({ id: 'Diagnose' })

type Line = { level: string; msg: string }

function diskLines({ space, state }: Services['appliance']): Line[] {
  if (state === 'Failed') return [] // there may be no store
  const disk: DiskState = space.state()
  const level = { ok: 'info', low: 'warning', full: 'error' }[disk.level]
  return disk.level === 'ok' ? [] : [{ level, msg: describeDisk(disk) }]
}

function clusterLines({ replica, cluster }: Services['appliance'], etcd: EtcdService | undefined): Line[] {
  const { spaceProblem } = cluster.node
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
  const { refusal, state, lostMs, behindMs, syncFailure } = replica
  if (refusal !== null) return { level: 'error', msg: refusal }
  if (lostMs > 0)
    return { level: 'warning', msg: `The other nodes have not answered for ${Math.round(lostMs / 1000)} seconds` }
  if (syncFailure !== null)
    return {
      level: 'error',
      msg: `Not following the others for ${Math.round(behindMs / 1000)} seconds: ${syncFailure}`,
    }
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
    summary:
      'Answers 200 while the appliance is Operational and keys can be used; coffer-disk says how full the disk is.',
    states: ['Operational'],
    access: 'public',
    noCache: true,
    answers: { status: 200, empty: true },
    errors: {
      500: 'The audit log cannot be written: keys are not used.',
      503: 'The audit log is full of uses that must be exported first.',
      507: 'The disk is full: most of its reserve is used.',
    },
    handle: ({ services: { appliance } }) => {
      appliance.audit?.expectRoom()
      const { level } = appliance.space.state()
      if (level === 'full') throw new CofferError('full', 'The disk is full')
      return { status: 200, headers: { 'coffer-disk': level } }
    },
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
    summary:
      'What the cluster process says, of which a single node has none, whether the disk is low, and why the appliance is Failed.',
    states: STATES,
    access: { roles: ['Administrator'], scope: 'root', publicIn: ['Unprovisioned', 'Locked', 'Failed'] },
    noCache: true,
    answers: { status: 200, json: diagnose },
    handle: ({ services: { appliance, etcd } }) => ({
      status: 200,
      json: {
        clusterLogs: [
          ...clusterLines(appliance, etcd),
          ...diskLines(appliance),
          ...(appliance.state === 'Failed' ? [{ level: 'error', msg: appliance.failure ?? 'Failed' }] : []),
        ],
        clusterState: etcd?.state ?? { running: false },
      },
    }),
  }),
]
