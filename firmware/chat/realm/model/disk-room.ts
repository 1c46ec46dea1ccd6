/**
 * Room on the disk for what users of the chat add: floors below which they are refused, and shares of the disk for uploads
 * and exports. Contract section 1.7; contract of the appliance, section 7.8.
 */

import { CofferError } from '../../../base/error.ts'
import { ChatError } from '../../base/error.ts'
import type { Realm } from './realm.ts'
import { organizationOf } from './state.ts'

const MIB = 1024 * 1024

/** Of the disk, for all uploads together where the operator has set nothing; and for all exports. */
const DEFAULT_SHARE = 1 / 4

/** What an export says when there is no room; its log line and its record are all that stays. */
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

/** An upload has so many bytes by now. Throws `REALM_UPLOAD_QUOTA`. */
export function expectUploadQuota(realm: Realm, bytes: number): void {
  if (realm.store.uploads.totalBytes() + bytes > uploadQuotaMib(realm) * MIB)
    throw new ChatError('REALM_UPLOAD_QUOTA', 'Upload would exceed your organization\u2019s upload quota.')
}

/** An export has so many bytes by now. Throws `full`. */
export function expectExportQuota({ state, space }: Realm, bytes: number): void {
  const stored = [...state.realmExport.all()].reduce((sum, { archive }) => sum + (archive?.sizeBytes ?? 0), 0)
  if (stored + bytes > space.usage().totalBytes * DEFAULT_SHARE) throw new CofferError('full', EXPORTS_FULL)
}
