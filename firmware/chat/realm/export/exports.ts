/** Requests for exports, and the task that makes the archives. Contract section 3.7, rows E121 to E123, V29; level 449. */

import { setImmediate } from 'node:timers/promises'
import { defined } from '../../../base/defined.ts'
import { CofferError } from '../../../base/error.ts'
import type { Log } from '../../../base/log.ts'
import { startPeriodic } from '../../../base/periodic.ts'
import { badRequest, forbidden } from '../../base/error.ts'
import type { UrlSigner } from '../messages/signed-url.ts'
import { removeFile } from '../messages/upload-receive.ts'
import type { UploadedFile } from '../messages/upload-send.ts'
import { createChunkWriter } from '../messages/upload-writer.ts'
import { expectExportQuota, expectRoomForFiles } from '../model/disk-room.ts'
import { urlFor } from '../model/organization-url.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { type ExportType, REALM_ID, type RealmExport, type User } from '../model/records.ts'
import { atLeast, ROLES } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { newPathId } from '../model/upload-path.ts'
import { archiveOf, type ExportKey } from './archive.ts'
import { exportedFiles } from './content.ts'

const WEEK_S = 7 * 86_400
const EXPORTS_A_WEEK_MAX = 5 // contract section 9
const INTERVAL_MS = 1000 // delay between the request and the start

/** Bytes hashed, sealed and written before yielding to the event loop. */
const BYTES_A_TURN = 1024 * 1024

export interface Exports {
  /** Returns the id of the export, which is made later. */
  request(me: User, type: ExportType): number
  /** Deletes the archive. The list of exports keeps the entry. */
  remove(id: number): Promise<void>
  /** Contract section 2.5. `base`: prefix of URLs. */
  list(viewer: User, base: string): ExportView[]
  /** The archive at `path`. Undefined if it does not exist or `viewer` may not fetch it. */
  fileAt(viewer: User, path: string): UploadedFile | undefined
  /** Makes all pending exports now. The periodic task does so every second. */
  now(): Promise<void>
  stop(): void
}

interface ExportsOptions {
  realm: Realm
  key: ExportKey
  /** Signs URLs that work without signing in, for a limited time. */
  urls: UrlSigner
  log: Log
}

/** Makes one export at a time. Exports that a restart interrupted are marked as failed. */
export function createExports({ realm, key, urls, log }: ExportsOptions): Exports {
  const { state } = realm
  failInterrupted()
  const rounds = startPeriodic({
    run: async (isOpen) => {
      for (const wanted of [...state.realmExport.all()]) if (isPending(wanted) && isOpen()) await make(wanted, isOpen)
    },
    intervalMs: INTERVAL_MS,
    failure: 'cannot write exports',
    source: 'chat',
    log,
  })

  function failInterrupted(): void {
    const pending = [...state.realmExport.all()].filter(isPending)
    if (pending.length === 0) return
    realm.transaction((tx) => {
      for (const one of pending) put(tx, { ...one, failed: nowOf(realm) })
    })
  }

  /** Publishes the event of contract row V29. */
  function put(tx: Transaction, one: RealmExport): void {
    tx.put('realmExport', one)
    const told = [...state.user.all()].filter(
      ({ id, isActive, bot, role }) =>
        realm.events.hasQueue(id) && isActive && bot === null && atLeast(role, ROLES.administrator),
    )
    for (const viewer of told) {
      const exports = list(viewer, urlFor(realm, viewer))
      tx.publish({ type: 'realm_export', to: [viewer.id], make: () => ({ exports }) })
    }
  }

  function list(viewer: User, base: string): ExportView[] {
    return [...state.realmExport.all()]
      .sort((a, b) => a.id - b.id)
      .map((one) => ({
        id: one.id,
        acting_user_id: one.actorId,
        export_time: one.time,
        deleted_timestamp: one.deleted,
        failed_timestamp: one.failed,
        export_url:
          one.archive === null || !mayFetch(viewer, one)
            ? null
            : base + urls.sign(one.archive.path, viewer.id, realm.clock.now()),
        pending: isPending(one),
        export_type: one.type,
        export_from_prior_server: false,
      }))
  }

  /** Checked at the request and again while the archive is written, because the role may change. */
  function mayExport({ isActive, role }: User, type: ExportType): boolean {
    const isForAll = type !== 'full_without_consent'
    if (!isActive || !atLeast(role, isForAll ? ROLES.administrator : ROLES.owner)) return false
    return isForAll || organizationOf(state).operator.ownerFullContentAccess
  }

  async function make(wanted: RealmExport, isOpen: () => boolean): Promise<void> {
    const id = realm.transaction((tx) => tx.nextId('upload'))
    try {
      const sizeBytes = await write(wanted, id, isOpen)
      const name = `export-${new Date(wanted.time * 1000).toISOString().slice(0, 10)}-${wanted.id}.tar`
      const archive = { id, path: newPathId(REALM_ID, name, realm.random), name, sizeBytes }
      realm.transaction((tx) => put(tx, { ...wanted, archive }))
    } catch (error) {
      if (!isOpen()) return // marked as failed at the next start
      const why = error instanceof CofferError ? error.message : (error as Error).name
      log.error('chat', `cannot write an export: ${why}`)
      realm.transaction((tx) => put(tx, { ...wanted, failed: nowOf(realm) }))
      await removeFile(realm, id)
    }
  }

  async function write(wanted: RealmExport, id: number, isOpen: () => boolean): Promise<number> {
    const actor = state.user.require(wanted.actorId)
    const { name: organization, url } = organizationOf(state)
    const about = { organization, url, type: wanted.type, time: wanted.time }
    const writer = createChunkWriter(realm.store.files, id, (bytes) => {
      if (!isOpen()) throw new CofferError('unavailable', 'The chat is closed')
      if (!mayExport(state.user.require(wanted.actorId), wanted.type))
        throw new CofferError('forbidden', 'The account that has asked for it may not have it any more')
      expectExportQuota(realm, bytes)
      expectRoomForFiles(realm, 0)
    })
    let unyielded = 0
    for await (const piece of archiveOf(exportedFiles(realm, wanted, actor), about, key)) {
      writer.add(piece)
      unyielded += piece.length
      if (unyielded < BYTES_A_TURN) continue
      unyielded = 0
      await setImmediate()
    }
    return writer.end().bytes
  }

  return {
    request: (me, type) =>
      realm.transaction((tx) => {
        if (!mayExport(me, type)) throw forbidden('Must be an organization owner with access to all content')
        const time = nowOf(realm)
        const recent = [...state.realmExport.all()].filter((other) => time - other.time < WEEK_S)
        // Clients match the first three words.
        if (recent.length >= EXPORTS_A_WEEK_MAX)
          throw badRequest(`Exceeded rate limit: at most ${EXPORTS_A_WEEK_MAX} exports a week`)
        const id = tx.nextId('realmExport')
        put(tx, { id, actorId: me.id, time, type, archive: null, failed: null, deleted: null })
        return id
      }),
    async remove(id) {
      const { archive } = realm.transaction((tx) => {
        const found = state.realmExport.get(id)
        if (found === undefined) throw badRequest('Invalid data export ID')
        if (found.deleted !== null) throw badRequest('Export already deleted')
        if (found.failed !== null) throw badRequest('Export failed, nothing to delete')
        if (found.archive === null) throw badRequest('Export still in progress')
        put(tx, { ...found, deleted: nowOf(realm), archive: null })
        return found
      })
      await removeFile(realm, defined(archive).id)
    },
    list,
    fileAt(viewer, path) {
      const found = [...state.realmExport.all()].find((one) => one.archive?.path === path && mayFetch(viewer, one))
      return found?.archive == null ? undefined : { ...found.archive, time: found.time }
    },
    now: rounds.now,
    stop: rounds.stop,
  }
}

/** Contract section 2.5. */
interface ExportView {
  id: number
  acting_user_id: number
  export_time: number
  deleted_timestamp: number | null
  failed_timestamp: number | null
  export_url: string | null
  pending: boolean
  export_type: ExportType
  /** Always false: imports contain no exports. */
  export_from_prior_server: false
}

const mayFetch = ({ role }: User, { type }: RealmExport): boolean =>
  atLeast(role, type === 'full_without_consent' ? ROLES.owner : ROLES.administrator)

const isPending = ({ archive, failed, deleted }: RealmExport): boolean =>
  archive === null && failed === null && deleted === null
