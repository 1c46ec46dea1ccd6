/** Backup passphrase, backup and restore. Contract sections 3.4, 3.5, 5 (rows 13 and 14) and 8. */

import * as z from 'zod'
import { BACKUP_FORMATS } from '../../backup/backups.ts'
import { OMITTABLE } from '../../backup/nethsm/omissions.ts'
import type { Spool } from '../../backup/spool.ts'
import { formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import { matchSchema, parseJson } from '../../base/json.ts'
import { MIB } from '../../base/memory.ts'
import { wipe } from '../../base/secret.ts'
import { mediaType } from '../../http/request/media.ts'
import { readParts } from '../../http/request/multipart.ts'
import { passphraseChange } from './config.ts'
import { passphraseBody } from './lifecycle.ts'
import { presentedPassphrase, timestamp } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

const BYTES_TYPE = 'application/octet-stream'
const FORM_TYPE = 'multipart/form-data'
const FORMS = { nethsm: 'a NetHSM', coffer: 'Coffer' } as const
/** Headers that name the backup's format and its missing parts; the second is absent if nothing is missing. */
const FORM_HEADER = 'coffer-backup-form'
const OMITS_HEADER = 'coffer-backup-omits'
const BACKUP_BYTES_EXPECTED_MAX = 1024 * MIB // a million keys
const ARGUMENTS = 'arguments'
const ARGUMENTS_BYTES_MAX = 1024 // contract section 8.3

const newPassphrase = z
  .union([passphraseChange, passphraseBody], {
    error: 'either newPassphrase and currentPassphrase, or passphrase; a new one has 10 to 200 bytes of UTF-8',
  })
  .meta({ examples: [{ newPassphrase: 'words that open a backup', currentPassphrase: '' }] })

const backupQuery = z.strictObject({
  format: z.enum(BACKUP_FORMATS).optional().meta({
    description:
      "nethsm: tools for a NetHSM's read it. coffer: holds everything. Without it the first that holds everything.",
  }),
})
const restoreQuery = z.strictObject({
  backupPassphrase: presentedPassphrase.optional(),
  systemTime: timestamp.optional(),
})
const restoreArguments = z.strictObject({
  backupPassphrase: presentedPassphrase.nullish(),
  systemTime: timestamp.nullish(),
})

const backupStatus = z
  .object({
    lastComplete: timestamp.optional().meta({ description: 'Sent to its end; absent for never.' }),
    defaultFormat: z.enum(BACKUP_FORMATS),
    nethsmOmits: z.array(z.enum(OMITTABLE)),
  })
  .meta({ id: 'BackupStatus' })

const restoreReport = z
  .object({
    leftOut: z.array(
      z.object({
        entry: z.string().meta({ examples: ['key team/web'] }),
        part: z.string().meta({ description: '`all` where nothing of the entry could be kept.', examples: ['tags'] }),
        reason: z.string(),
      }),
    ),
    more: z.int().meta({ description: 'Further ones, which are only counted.' }),
  })
  .meta({ id: 'RestoreReport' })

export const backupDeclarations = [
  declare({
    method: 'PUT',
    path: '/config/backup-passphrase',
    summary: 'Sets the passphrase that opens backups; the current one is empty before the first.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: { kind: 'json', schema: newPassphrase },
    facts: ({ body }) => ({ current: 'passphrase' in body ? 'not asked' : 'asked' }),
    answers: EMPTY,
    errors: { 400: 'The new passphrase is not 10 to 200 bytes long.', 403: 'The current passphrase is wrong.' },
    handle: async ({ services, caller, body }) => {
      const [next, current] =
        'passphrase' in body ? [body.passphrase, null] : [body.newPassphrase, body.currentPassphrase]
      try {
        await services.appliance.backups.setPassphrase(next, current)
        const how = current === null ? 'without asking for the current one' : 'with the current one'
        services.log.info('general', `backup passphrase set by ${caller.userId}, ${how}`)
        return { status: 204 }
      } finally {
        wipe(next, current)
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/system/backup',
    summary: 'All users, namespaces, keys and settings, sealed with the backup passphrase.',
    states: OPERATIONAL,
    access: { roles: ['Backup'], scope: 'root' },
    noCache: true,
    query: backupQuery,
    facts: ({ query }) => ({ format: query.format }),
    answers: { status: 200, types: [BYTES_TYPE] },
    errors: { 400: 'An unknown form.', 412: 'No backup passphrase is set.' },
    handle: async ({ services, caller, query }) => {
      const { backups } = services.appliance
      const lost = query.format === undefined ? backups.lostByNethsm : []
      const wanted = query.format ?? backups.defaultFormat
      const { stream, format, omitted } = await backups.make(wanted)
      const why =
        format !== wanted
          ? ', since the unlock passphrase has not been given yet to this version'
          : lost.length > 0
            ? `, since that of a NetHSM cannot hold: ${lost.join(', ')}`
            : ''
      services.log.info('general', `backup made by ${caller.userId} in the form of ${FORMS[format]}${why}`)
      const omits = omitted.join(', ')
      if (omits !== '') services.log.warning('general', `the backup is incomplete, it omits: ${omits}`)
      const headers = { [FORM_HEADER]: format, ...(omits !== '' && { [OMITS_HEADER]: omits }) }
      return { status: 200, stream, type: BYTES_TYPE, headers }
    },
  }),
  declare({
    method: 'GET',
    path: '/system/backup-status',
    summary: 'When the last complete backup was made, and what one in the form of a NetHSM would omit now.',
    states: OPERATIONAL,
    access: { roles: ['Administrator', 'Backup'], scope: 'root' },
    noCache: true,
    answers: { status: 200, json: backupStatus },
    handle: ({ services: { appliance } }) => {
      const { lastMs, defaultFormat, omittedByNethsm } = appliance.backups
      const last = lastMs === null ? {} : { lastComplete: formatTime(lastMs) }
      return { status: 200, json: { ...last, defaultFormat, nethsmOmits: [...omittedByNethsm] } }
    },
  }),
  declare({
    method: 'POST',
    path: '/system/restore',
    summary:
      'Replaces everything with what is in a backup. In a form, the passphrase may be left out if it is the current one.',
    states: ['Unprovisioned', 'Operational'],
    access: { ...ROOT_ADMINISTRATORS, publicIn: ['Unprovisioned'] },
    noCache: true,
    query: restoreQuery,
    body: {
      kind: 'stream',
      types: [FORM_TYPE, BYTES_TYPE],
      bytesExpectedMax: BACKUP_BYTES_EXPECTED_MAX,
      form: { [ARGUMENTS]: { example: { backupPassphrase: 'words that open a backup' } }, backup_file: 'binary' },
      open: (upload, contentType) => ({ upload, contentType }),
    },
    answers: EMPTY,
    errors: { 400: 'Not a backup, damaged, incomplete, or the passphrase is wrong; nothing has changed.' },
    handle: async ({ services, caller, query, body: { upload, contentType } }) => {
      const { backups } = services.appliance
      const requestedAtMs = performance.now()
      const spool = backups.receive(upload.refuse)
      let input = query
      try {
        if (mediaType(contentType) === FORM_TYPE) input = await receiveForm(upload, contentType, query, spool)
        else if (query.backupPassphrase === undefined) throw new CofferError('invalid', 'backupPassphrase is missing')
        else await spool.receive(upload)
        const { backupPassphrase, systemTime } = input
        await backups.restore(spool, {
          passphrase: backupPassphrase ?? null,
          systemTimeMs: systemTime ?? null,
          requestedAtMs,
        })
        services.log.info('general', `backup restored by ${caller?.userId ?? 'a client without credentials'}`)
        return { status: 204 }
      } finally {
        wipe(input.backupPassphrase)
        spool.close()
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/system/restore-report',
    summary: 'All that the last restore left out. Users, keys and namespaces of a NetHSM are known after the unlock.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    answers: { status: 200, json: restoreReport },
    handle: ({ services }) => ({ status: 200, json: services.appliance.backups.restoreReport }),
  }),
]

type Given = z.output<typeof restoreQuery>

/** Reads two parts in any order: `arguments`, and the backup under any name. Throws `invalid`. */
async function receiveForm(
  upload: AsyncIterable<Uint8Array>,
  contentType: string,
  query: Given,
  spool: Spool,
): Promise<Given> {
  if (Object.keys(query).length > 0) throw new CofferError('invalid', 'Arguments go into the form, not into the query')
  let input: z.output<typeof restoreArguments> | undefined
  let files = 0
  try {
    for await (const { name, content } of readParts(upload, contentType)) {
      if (name !== ARGUMENTS) {
        if (files++ > 0) throw new CofferError('invalid', 'The form has more than one file')
        await spool.receive(content)
      } else if (input === undefined) input = matchSchema(restoreArguments, await readArguments(content), ARGUMENTS)
      else throw new CofferError('invalid', 'The form contains the arguments twice')
    }
    if (input === undefined || files === 0)
      throw new CofferError('invalid', 'The form must contain the arguments and the backup')
  } catch (error) {
    wipe(input?.backupPassphrase)
    throw error
  }
  const { backupPassphrase, systemTime } = input
  return {
    ...(backupPassphrase != null && { backupPassphrase }),
    ...(systemTime != null && { systemTime }),
  }
}

async function readArguments(content: AsyncIterable<Uint8Array>): Promise<unknown> {
  const bytes = new Uint8Array(ARGUMENTS_BYTES_MAX)
  let length = 0
  try {
    for await (const piece of content) {
      if (length + piece.length > bytes.length)
        throw new CofferError('invalid', `The arguments are longer than ${ARGUMENTS_BYTES_MAX} bytes`)
      bytes.set(piece, length)
      length += piece.length
      wipe(piece)
    }
    return parseJson(bytes.subarray(0, length))
  } finally {
    wipe(bytes)
  }
}
