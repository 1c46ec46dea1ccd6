/**
 * Room on the disk for what users of the chat add: floors below which they are refused, and shares of the disk for uploads
 * and exports. Contract section 1.7; contract of the appliance, section 7.8.
 */

import { CofferError } from '../../../base/error.ts'
import { badRequest, ChatError } from '../../base/error.ts'
import type { Realm } from './realm.ts'
import type { User } from './records.ts'
import { atLeast, ROLES } from './roles.ts'
import { organizationOf } from './state.ts'

const MIB = 1024 * 1024

/** The share of the disk for all uploads together where the operator has set no quota, and for all exports. */
const DEFAULT_SHARE = 1 / 4

/**
 * The share of that quota for one account below administrator and its bots, so that they cannot keep others from uploading. An upload of
 * the largest size fits where the quota is the default one on a disk of 1.6 GB.
 */
const ACCOUNT_SHARE = 1 / 4

/** As many as one answer about all files of an account takes; contract section 9.1. */
const FILES_OF_ACCOUNT_MAX = 50_000
const FILES_MAX = 1_000_000

/** Goes into the log and into the record of an export that finds no room. */
const EXPORTS_FULL = 'exports would take more than a quarter of the disk: delete older ones'

/** Throws `full` while users may add no messages and the like. */
export function expectRoomForMessages({ space, store }: Realm): void {
  space.expectRoom('messages', 0, store.reusableBytes['chat.db'])
}

/** False while nothing may be added in somebody's name, which is then left for later. */
export function hasRoomForMessages(realm: Realm): boolean {
  try {
    expectRoomForMessages(realm)
    return true
  } catch (error) {
    if (error instanceof CofferError && error.code === 'full') return false
    throw error
  }
}

/** Throws `full` unless so many more bytes of files may be stored. */
export function expectRoomForFiles({ space, store }: Realm, bytes: number): void {
  space.expectRoom('files', bytes, store.reusableBytes['files.db'])
}

/** In MiB, as clients see it. */
export function uploadQuotaMib({ state, space }: Realm): number {
  const { uploadQuotaMib } = organizationOf(state).operator
  return uploadQuotaMib ?? Math.floor((space.usage().totalBytes * DEFAULT_SHARE) / MIB)
}

/** An upload of this account has so many bytes by now. Throws `REALM_UPLOAD_QUOTA`, and `BAD_REQUEST` beyond the number of files. */
export function expectUploadQuota(realm: Realm, me: User, bytes: number): void {
  const { uploads } = realm.store
  const quotaBytes = uploadQuotaMib(realm) * MIB
  const total = uploads.total()
  if (total.bytes + bytes > quotaBytes) throw overQuota('your organization\u2019s upload quota')
  if (total.files >= FILES_MAX) throw badRequest(`More than ${FILES_MAX} files in the organization`)
  const owner = realm.state.user.get(me.bot?.ownerId ?? me.id) ?? me
  if (atLeast(owner.role, ROLES.administrator)) return
  const own = [owner.id, ...realm.state.botsOf.get(owner.id).keys()].map(uploads.sumOf)
  if (sum(own.map(({ bytes }) => bytes)) + bytes > quotaBytes * ACCOUNT_SHARE)
    throw overQuota('your share of your organization\u2019s upload quota')
  if (sum(own.map(({ files }) => files)) >= FILES_OF_ACCOUNT_MAX)
    throw badRequest(`More than ${FILES_OF_ACCOUNT_MAX} files`)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

const overQuota = (quota: string) => new ChatError('REALM_UPLOAD_QUOTA', `Upload would exceed ${quota}.`)

/** An export has so many bytes by now. Throws `full`. */
export function expectExportQuota({ state, space }: Realm, bytes: number): void {
  const stored = [...state.realmExport.all()].reduce((sum, { archive }) => sum + (archive?.sizeBytes ?? 0), 0)
  if (stored + bytes > space.usage().totalBytes * DEFAULT_SHARE) throw new CofferError('full', EXPORTS_FULL)
}
