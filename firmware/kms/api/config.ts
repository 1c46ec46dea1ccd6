/** `/config`: unlock passphrase, boot mode, time. Contract section 3.4. */

import * as z from 'zod'
import { formatTime } from '../../base/clock.ts'
import { wipe } from '../../base/secret.ts'
import { onOff, passphrase, presentedPassphrase, timestamp } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

export const passphraseChange = z
  .strictObject({ newPassphrase: passphrase, currentPassphrase: presentedPassphrase })
  .meta({
    id: 'PassphraseChange',
    examples: [{ newPassphrase: 'another horse battery', currentPassphrase: 'correct horse battery' }],
  })

export const configDeclarations = [
  declare({
    method: 'PUT',
    path: '/config/unlock-passphrase',
    summary: 'Changes the unlock passphrase.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: { kind: 'json', schema: passphraseChange },
    answers: EMPTY,
    errors: { 400: 'The new passphrase is not 10 to 200 bytes long.', 403: 'The current passphrase is wrong.' },
    handle: async ({ services, caller, body: { currentPassphrase, newPassphrase } }) => {
      try {
        await services.appliance.changeUnlockPassphrase(currentPassphrase, newPassphrase)
        services.log.info('general', `unlock passphrase changed by ${caller.userId}`)
        return { status: 204 }
      } finally {
        wipe(currentPassphrase, newPassphrase)
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/config/unattended-boot',
    summary: 'Whether the appliance starts without the unlock passphrase.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ({ services }) => `unattended boot ${services.appliance.unattendedBoot}`,
    answers: { status: 200, json: onOff },
    handle: ({ services }) => ({ status: 200, json: { status: services.appliance.unattendedBoot ? 'on' : 'off' } }),
  }),
  declare({
    method: 'PUT',
    path: '/config/unattended-boot',
    summary: 'Sets whether the appliance starts without the unlock passphrase.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ({ services }) => `unattended boot ${services.appliance.unattendedBoot}`,
    creates: true,
    body: { kind: 'json', schema: onOff },
    facts: ({ body }) => ({ status: body.status }),
    answers: EMPTY,
    errors: { 400: 'Neither on nor off.' },
    handle: ({ services, caller, body: { status } }) => {
      services.appliance.setUnattendedBoot(status === 'on')
      services.log.info('general', `unattended boot ${status} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/config/time',
    summary: "The appliance's time.",
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: {
      status: 200,
      json: z.object({ time: z.string().meta({ format: 'date-time' }) }).meta({ id: 'CurrentTime' }),
    },
    handle: ({ services }) => ({ status: 200, json: { time: formatTime(services.appliance.clock.now()) } }),
  }),
  declare({
    method: 'PUT',
    path: '/config/time',
    summary: 'Sets the time.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: {
      kind: 'json',
      schema: z.strictObject({ time: timestamp }).meta({ id: 'SetTime', examples: [{ time: '2026-11-23T12:00:00Z' }] }),
    },
    facts: ({ body }) => ({ time: formatTime(body.time) }),
    answers: EMPTY,
    errors: { 400: 'Not a time in UTC.' },
    handle: ({ services, caller, body: { time } }) => {
      services.appliance.setTime(time)
      services.log.info('general', `time set to ${formatTime(time)} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]
