/** Reads what arrives from the firmware: its process meets the network, so its messages are checked like any input. */

import { STATES } from '../firmware/vocabulary.ts'
import { printable } from './lines.ts'
import type { ToBoot } from './protocol.ts'

const RESULTS = ['unlocked', 'wrong', 'tooManyAttempts', 'notLocked', 'failed'] as const
const ACTIONS = ['reboot', 'shutdown', 'factoryReset'] as const

/** The message, rebuilt from its checked members with printable texts, or null when it is none of the protocol's. */
export function readMessage(value: unknown): ToBoot | null {
  if (typeof value !== 'object' || value === null || !('type' in value)) return null
  const members = value as Record<string, unknown>
  switch (members.type) {
    case 'listening': {
      const { address, port } = members
      return typeof address === 'string' && Number.isInteger(port)
        ? { type: 'listening', address: printable(address), port: port as number }
        : null
    }
    case 'state': {
      const state = STATES.find((state) => state === members.state)
      return state === undefined ? null : { type: 'state', state, ...optionalText('reason', members.reason) }
    }
    case 'unlockResult': {
      const result = RESULTS.find((result) => result === members.result)
      return result === undefined ? null : { type: 'unlockResult', result, ...optionalText('message', members.message) }
    }
    case 'refused':
      return typeof members.reason === 'string' ? { type: 'refused', reason: printable(members.reason) } : null
    case 'request': {
      const action = ACTIONS.find((action) => action === members.action)
      return action === undefined ? null : { type: 'request', action }
    }
    case 'pong':
      return { type: 'pong' }
    default:
      return null
  }
}

const optionalText = <Name extends string>(name: Name, value: unknown): { [N in Name]?: string } =>
  typeof value === 'string' ? ({ [name]: printable(value) } as { [N in Name]: string }) : {}
