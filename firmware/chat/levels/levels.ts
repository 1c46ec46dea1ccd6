/** Adapts requests, answers and events to clients that declare an older feature level. Contract section 8. */

import { endpointName } from '../../http/endpoint/endpoint.ts'
import { bodyReply } from '../../http/reply.ts'
import type { Services } from '../api/declare.ts'
import { badRequest, ChatError } from '../base/error.ts'
import { VERSION } from '../base/version.ts'
import type { OldEvents } from '../events/hub.ts'
import { integer } from '../pipeline/parameters.ts'
import type { LevelAdapter } from '../pipeline/pipeline.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { LEVEL_CHANGES } from './changes.ts'
import { expectEndpoints } from './named-endpoints.ts'
import { type CompiledChanges, changesAbove, compile } from './rewrite.ts'

/** Below the oldest change in the contract. */
const LEVEL_MIN = 102
const LEVEL_MAX = VERSION.zulip_feature_level

export interface Levels {
  /** Returns null if no change applies to the level. Throws `BAD_REQUEST` for an invalid level. */
  formOf(header: string | undefined): LevelAdapter<Services, User> | null
  readonly events: OldEvents
}

/**
 * Compiles the changes when the first client declares a level; levels between two changes share the result. Throws if a change names an
 * unknown endpoint.
 */
export function createLevels(realm: () => Realm): Levels {
  expectEndpoints(LEVEL_CHANGES)
  const forms = new Map<number, CompiledChanges>()
  const byGates = new Map<string, CompiledChanges>()
  const at = (level: number): CompiledChanges => {
    const known = forms.get(level)
    if (known !== undefined) return known
    const gates = changesAbove(level)
    const key = gates.map((gate) => gate.level).join(' ')
    const form = byGates.get(key) ?? compile(gates)
    byGates.set(key, form)
    forms.set(level, form)
    return form
  }
  return {
    formOf(header) {
      if (header === undefined) return null
      const level = /^\d{3}$/.test(header) ? Number(header) : 0
      if (level < LEVEL_MIN || level > LEVEL_MAX)
        throw badRequest(`X-Service-Feature-Level must be a number from ${LEVEL_MIN} to ${LEVEL_MAX}`)
      return changesAbove(level).length === 0 ? null : oldForm(level, at(level), realm)
    },
    events: {
      knows: (level, type) => !at(level).unknownTypes.has(type),
      othersOf: (level, type) => at(level).otherTypes.get(type) ?? [],
      rewrite(level, event, about) {
        const change = at(level).events.get(event.type)
        // All clients share the event, so changes work on a copy.
        return change === undefined ? [event] : change(structuredClone(event), { realm: realm(), level, ...about })
      },
    },
  }
}

const oldForm = (level: number, form: CompiledChanges, realm: () => Realm): LevelAdapter<Services, User> => ({
  level,
  has: (declaration) => !form.absent.has(endpointName(declaration)),
  readRequest(asked) {
    const { declaration, path, values } = asked
    const unknown: string[] = []
    const name = endpointName(declaration)
    for (const read of form.requests.get(name) ?? []) read(values, unknown, realm(), path)
    const meant = form.others.get(name)
    const id = meant === undefined ? undefined : values.get(meant.parameter)
    if (meant === undefined || id === undefined) return { ...asked, unknown }
    values.delete(meant.parameter)
    return {
      declaration: meant.declaration,
      path: { [meant.parameter]: integer().read(id, meant.parameter) },
      values,
      unknown,
    }
  },
  writeReply({ declaration, values }, reply, me) {
    const change = form.answers.get(endpointName(declaration))
    const { status, headers, body } = reply
    const type = headers['content-type'] ?? ''
    if (change === undefined || typeof body !== 'string' || !type.startsWith('application/json')) return reply
    const answer = JSON.parse(body)
    change(answer, { realm: realm(), level, values, me })
    return bodyReply(status, JSON.stringify(answer), type, headers)
  },
  writeError(declaration, error) {
    const name = endpointName(declaration)
    const known = form.codes.find(
      (one) => one.endpoint === name && error instanceof ChatError && error.code === one.from,
    )
    if (known === undefined) return error
    const { message, fields, status } = error as ChatError
    return new ChatError(known.to, message, fields, status)
  },
})
