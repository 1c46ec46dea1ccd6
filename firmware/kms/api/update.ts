/** `/system/update`: uploads a signed image, checks it, and commits or cancels the update. Contract sections 3.5 and 9. */

import * as z from 'zod'
import { IMAGE_BYTES_MAX } from '../../release/manifest.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

export const updateDeclarations = [
  declare({
    method: 'POST',
    path: '/system/update',
    summary: 'Uploads and verifies an update image, which is then pending. Nothing of it runs before it is committed.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: {
      kind: 'stream',
      types: ['application/octet-stream'],
      bytesExpectedMax: IMAGE_BYTES_MAX,
      open: (chunks) => chunks,
    },
    answers: { status: 200, json: z.object({ releaseNotes: z.string() }).meta({ id: 'UpdateAnswer' }) },
    errors: {
      400: 'Not an update image, damaged, not signed by the release key, for another product, or it could not be stored.',
      409: 'An update is already pending, or this one is too old for, or too far ahead of, the installed version.',
    },
    handle: async ({ services, body }) => ({ status: 200, json: { releaseNotes: await services.stager.stage(body) } }),
  }),
  declare({
    method: 'POST',
    path: '/system/commit-update',
    summary: 'Restarts into the pending update. If it fails to start, the installed version comes back by itself.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: EMPTY,
    errors: { 400: 'The update could not be activated; it is still pending.', 412: 'Nothing has been uploaded.' },
    handle: async ({ services, caller }) => {
      await services.stager.commit()
      services.log.info('general', `update committed by ${caller.userId}`)
      await services.bootManager.request('reboot')
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/system/cancel-update',
    summary: 'Drops the pending update.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: EMPTY,
    errors: { 412: 'Nothing has been uploaded.' },
    handle: async ({ services }) => {
      await services.stager.cancel()
      return { status: 204 }
    },
  }),
]
