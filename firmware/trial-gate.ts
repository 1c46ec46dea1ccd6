/**
 * Until the boot manager has marked a new version good, nothing is promised to anybody: the trial may be undone. Where it is
 * Locked, somebody has to unlock it for that.
 */

import type { Appliance } from './appliance/appliance.ts'
import { refusal } from './http/errors.ts'
import { toResponse } from './http/reply.ts'
import type { Operational } from './kms/domain/operational.ts'
import type { Api } from './kms/pipeline/pipeline.ts'

interface TrialGate {
  /** The app's, or a refusal while the version is on trial. */
  readonly fetch: Api['fetch']
  /** The sign that this version cannot read the store, although its key is right: the trial then ends. */
  readonly problem: string | undefined
  /** This version is good. */
  end(): void
  /** Ends the wait of those who wait for the end of the trial. */
  close(): void
}

export function createTrialGate(app: Api, appliance: Appliance<Operational>, startsOnTrial: boolean): TrialGate {
  let isOn = startsOnTrial
  const { promise: isOver, resolve: close } = Promise.withResolvers<void>()
  const isLocked = () => appliance.state === 'Locked'

  const duringTrial: Api['fetch'] = async (request, env) => {
    if (isForPeople(request)) return app.fetch(request, env)
    if (!isLocked()) return toResponse(onTrial())
    const response = await app.fetch(request, env)
    if (!isLocked()) await isOver // an unlock is answered once the version stays
    return isLocked() || !isOn ? response : toResponse(onTrial())
  }

  return {
    fetch: (request, env) => (isOn ? duringTrial : app.fetch)(request, env),
    get problem() {
      return isOn ? problemOf(appliance) : undefined
    },
    end() {
      isOn = false
      close()
    },
    close,
  }
}

function problemOf(appliance: Appliance<Operational>): string | undefined {
  if (appliance.state === 'Operational' && appliance.open().users.list('').length === 0) return 'No user can be read'
  return appliance.openFailure
}

const onTrial = () => refusal('busy', 'A new version is being tried')

/** The page for browsers says what is going on; it and the API documents are the same whatever the trial comes to. */
const isForPeople = ({ url }: Request): boolean => /^\/($|docs\/?$|console\/)/.test(new URL(url).pathname)
