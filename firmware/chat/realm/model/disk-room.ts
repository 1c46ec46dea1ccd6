/**
 * Disk space for data of chat users: free space below which requests are refused, and the quotas for uploads and exports. Contract section
 * 1.7; contract of the appliance, section 7.8.
 */

import { CofferError } from '../../../base/error.ts'
import { MIB } from '../../../base/memory.ts'
import { badRequest, ChatError } from '../../base/error.ts'
import { payerOf } from './owners.ts'
import type { Realm } from './realm.ts'
import type { User } from './records.ts'
import { atLeast, ROLES } from './roles.ts'
import { organizationOf } from './state.ts'

/** Share of the disk for all uploads unless the operator has set a quota, and for all exports. */
const DEFAULT_SHARE = 1 / 4

/**
 * Share of the upload quota for one account below administrator together with its bots, so that one account cannot use up the quota. With
 * the default quota, an upload of the largest size fits from a disk of 1.6 GB up.
 */
const ACCOUNT_SHARE = 1 / 4

/** As many as fit into one answer that lists all files of an account. Contract section 9.1. */
const FILES_OF_ACCOUNT_MAX = 50_000
const FILES_MAX = 1_000_000

const EXPORTS_FULL = 'exports would take more than a quarter of the disk: delete older ones'

/** Throws `full` if the free space is below the limit for new messages. */
export function expectRoomForMessages({ space, store }: Realm): void {
  space.expectRoom('messages', 0, store.reusableBytes['chat.db'])
}

/** False if the disk has no room for messages. Messages that the service sends for a user are then delayed. */
export function hasRoomForMessages(realm: Realm): boolean {
  try {
    expectRoomForMessages(realm)
    return true
  } catch (error) {
    if (error instanceof CofferError && error.code === 'full') return false
    throw error
  }
}

/** Throws `full` unless `bytes` more can be stored. */
export function expectRoomForFiles({ space, store }: Realm, bytes: number): void {
  space.expectRoom('files', bytes, store.reusableBytes['files.db'])
}

export function uploadQuotaMib({ state, space }: Realm): number {
  const { uploadQuotaMib } = organizationOf(state).operator
  return uploadQuotaMib ?? Math.floor((space.usage().totalBytes * DEFAULT_SHARE) / MIB)
}

/** `bytes`: size of the upload so far. Throws `REALM_UPLOAD_QUOTA`, and `BAD_REQUEST` if there are too many files. */
export function expectUploadQuota(realm: Realm, me: User, bytes: number): void {
  const { uploads } = realm.store
  const quotaBytes = uploadQuotaMib(realm) * MIB
  const total = uploads.total()
  if (total.bytes + bytes > quotaBytes) throw overQuota('your organization\u2019s upload quota')
  if (total.files >= FILES_MAX) throw badRequest(`More than ${FILES_MAX} files in the organization`)
  const owner = realm.state.user.get(payerOf(me)) ?? me
  if (atLeast(owner.role, ROLES.administrator)) return
  const own = [owner.id, ...realm.state.botsOf.get(owner.id).keys()].map(uploads.sumOf)
  if (sum(own.map(({ bytes }) => bytes)) + bytes > quotaBytes * ACCOUNT_SHARE)
    throw overQuota('your share of your organization\u2019s upload quota')
  if (sum(own.map(({ files }) => files)) >= FILES_OF_ACCOUNT_MAX)
    throw badRequest(`More than ${FILES_OF_ACCOUNT_MAX} files`)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

const overQuota = (quota: string) => new ChatError('REALM_UPLOAD_QUOTA', `Upload would exceed ${quota}.`)

/** `bytes`: size of the export so far. Throws `full`. */
export function expectExportQuota({ state, space }: Realm, bytes: number): void {
  const stored = [...state.realmExport.all()].reduce((sum, { archive }) => sum + (archive?.sizeBytes ?? 0), 0)
  if (stored + bytes > space.usage().totalBytes * DEFAULT_SHARE) throw new CofferError('full', EXPORTS_FULL)
}
