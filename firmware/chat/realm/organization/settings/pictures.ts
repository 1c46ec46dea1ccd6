/** Icon and logos of the organization. Contract row E120, V23. */

import type { Realm } from '../../model/realm.ts'
import { type Organization, REALM_ID, type RealmPicture } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'

export const DEFAULT_ICON_PATH = '/static/images/default-icon.png'
const ICON_URL_UNSET = `${DEFAULT_ICON_PATH}?version=0`
const LOGO_URL_UNSET = '/static/logo.svg'

/** The unset icon in events that an older version has queued. */
const FORMER_ICON = /"icon_url":"https:\/\/secure\.gravatar\.com\/[^"]*"/g

/** Takes and returns the JSON of an event. */
export const withOwnIcon = (event: string): string => event.replace(FORMER_ICON, `"icon_url":"${ICON_URL_UNSET}"`)

export const REALM_PICTURES = ['icon', 'logo', 'night_logo'] as const satisfies readonly RealmPicture[]

/** URL and source: `U` for an uploaded picture, otherwise the default of all organizations. */
export function pictureFields({ pictures }: Organization, picture: RealmPicture): Record<string, string> {
  const own = pictures?.[picture]
  const unset = picture === 'icon' ? ICON_URL_UNSET : LOGO_URL_UNSET
  return {
    [`${picture}_url`]: own?.isSet ? `/user_avatars/${REALM_ID}/realm/${picture}.png?version=${own.version}` : unset,
    [`${picture}_source`]: own?.isSet ? 'U' : picture === 'icon' ? 'G' : 'D',
  }
}

const fileName = (picture: RealmPicture, version: number): string => `realm ${picture} ${version}`

export function realmPicture(realm: Realm, picture: RealmPicture): Uint8Array | undefined {
  const own = organizationOf(realm.state).pictures?.[picture]
  return own?.isSet ? realm.store.files.picture(fileName(picture, own.version)) : undefined
}

/** Null restores the default. Writes the picture to disk before the event is published, and deletes the old one after the commit. */
export function setRealmPicture(realm: Realm, picture: RealmPicture, bytes: Uint8Array | null): Record<string, string> {
  return realm.transaction((tx) => {
    const organization = organizationOf(realm.state)
    const before = organization.pictures?.[picture]
    const after = { version: (before?.version ?? 1) + 1, isSet: bytes !== null }
    if (bytes !== null) realm.store.files.putPicture(fileName(picture, after.version), bytes)
    const changed = { ...organization, pictures: { ...organization.pictures, [picture]: after } }
    tx.put('organization', changed)
    publish(tx, picture, pictureFields(changed, picture))
    if (before?.isSet) tx.onCommit(() => forget(realm, picture, before.version))
    return pictureFields(changed, picture)
  })
}

function publish(tx: Transaction, property: RealmPicture, data: Record<string, string>): void {
  tx.publish({ type: 'realm', to: 'everyone', make: () => ({ op: 'update_dict', property, data }) })
}

/** Best effort: the change is committed and must not seem to have failed. */
function forget(realm: Realm, picture: RealmPicture, version: number): void {
  try {
    realm.store.files.removePicture(fileName(picture, version))
  } catch {}
}
