/** Changes of state: provision, unlock, lock. Contract sections 2, 3.1 and 7.1. */

import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { UNLOCK_USER } from '../../base/login-limiter.ts'
import { wipe } from '../../base/secret.ts'
import { passphrase, timestamp } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

const provision = z
  .strictObject({ unlockPassphrase: passphrase, adminPassphrase: passphrase, systemTime: timestamp })
  .meta({
    id: 'Provision',
    examples: [
      {
        unlockPassphrase: 'correct horse battery',
        adminPassphrase: 'staple of an administrator',
        systemTime: '2026-11-23T12:00:00Z',
      },
    ],
  })

export const passphraseBody = z
  .strictObject({ passphrase })
  .meta({ id: 'PassphraseBody', examples: [{ passphrase: 'correct horse battery' }] })

export const lifecycleDeclarations = [
  declare({
    method: 'POST',
    path: '/provision',
    summary: 'Sets the passphrases and the time of a fresh appliance and makes it Operational.',
    states: ['Unprovisioned'],
    access: 'public',
    noCache: true,
    body: { kind: 'json', schema: provision },
    answers: EMPTY,
    errors: { 400: 'A passphrase is not 10 to 200 bytes long, or the time is not in UTC.' },
    handle: async ({ services, body: { unlockPassphrase, adminPassphrase, systemTime } }) => {
      try {
        await services.appliance.provision({ unlockPassphrase, adminPassphrase, systemTimeMs: systemTime })
        return { status: 204 }
      } finally {
        wipe(unlockPassphrase, adminPassphrase)
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/unlock',
    summary: 'Makes a locked appliance Operational.',
    states: ['Locked'],
    access: 'public',
    attemptsAs: UNLOCK_USER,
    noCache: true,
    body: { kind: 'json', schema: passphraseBody },
    answers: EMPTY,
    errors: { 400: 'The passphrase is not 10 to 200 bytes long.', 403: 'The passphrase is wrong.' },
    handle: async ({ services, address, isRecorded, body: { passphrase } }) => {
      try {
        await services.appliance.unlock(passphrase, { address, onRecord: isRecorded })
        return { status: 204 }
      } catch (error) {
        if (error instanceof CofferError && error.code === 'forbidden')
          services.log.warning('access', `unlocking from ${address || 'inside'} failed: wrong passphrase`)
        throw error
      } finally {
        wipe(passphrase)
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/lock',
    summary: 'Forgets every key until the next unlock.',
    isDoneUnrecorded: true,
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: EMPTY,
    handle: async ({ services, caller }) => {
      await services.appliance.lock()
      services.log.info('general', `locked by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
