/**
 * The files of an export, as of its start; later messages are left out. Contract section 3.7, rows E121 to E123, and section 12. Levels
 * 304, 449.
 */

import { setImmediate } from 'node:timers/promises'
import { defined } from '../../../base/defined.ts'
import { CofferError } from '../../../base/error.ts'
import { CHUNK_BYTES } from '../../store/files.ts'
import type { ExportedRow } from '../../store/messages.ts'
import type { UploadRow } from '../../store/uploads.ts'
import { locationOf } from '../messages/location.ts'
import { metadataOf } from '../model/message-metadata.ts'
import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, DirectConversation, RealmExport, User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { groupObject } from '../objects/group-view.ts'
import { pictureOf } from '../organization/users/avatar-pictures.ts'
import { realmGroupValues } from '../permissions/group-rights.ts'
import { seesAddress } from '../permissions/user-access.ts'
import { visibilityOf } from '../permissions/visibility.ts'

export interface ExportedFile {
  name: string
  size: number
  chunks: Iterable<Uint8Array>
}

const MESSAGES_OF_FILE = 1000
const CHARACTERS_OF_FILE = 4 * 1024 * 1024
const MESSAGES_A_TURN = 50

/** Files are generated while they are read, which bounds memory. Throws `storage` if an upload is deleted while it is read. */
export async function* exportedFiles(realm: Realm, wanted: RealmExport, actor: User): AsyncGenerator<ExportedFile> {
  const scope = scopeOf(realm, wanted.type)
  const newest = realm.store.messages.maxId()
  for (const [name, table] of tablesOf(realm, actor, scope)) {
    yield jsonFile(`${name}.json`, table())
    await setImmediate()
  }
  const shown = new Set<number>()
  yield* messageFiles(realm, scope, newest, shown)
  const uploads = realm.store.uploads.all().filter(({ id, owner }) => shown.has(id) || scope.ownFiles.has(owner))
  yield jsonFile('attachments.json', uploads.map(attachmentOf))
  for (const upload of uploads) {
    if (realm.store.uploads.get(upload.id) === undefined) continue // deleted by its owner since
    yield { name: `uploads/${upload.id}`, size: upload.sizeBytes, chunks: chunksOf(realm, upload) }
  }
  for (const user of realm.state.user.all()) {
    const picture = pictureOf(realm, user)
    if (picture !== undefined) yield { name: `avatars/${user.id}`, size: picture.length, chunks: [picture] }
  }
}

function jsonFile(name: string, value: unknown): ExportedFile {
  const bytes = Buffer.from(JSON.stringify(value))
  return { name, size: bytes.length, chunks: [bytes] }
}

interface Scope {
  hasMessage(row: ExportedRow): boolean
  channels: readonly Channel[]
  conversations: readonly DirectConversation[]
  /** Users whose personal data is exported: settings, topic policies, alert words, muted users. */
  people: readonly User[]
  ownFiles: ReadonlySet<number>
}

/**
 * `public`: public channels. `full_with_consent`: in addition, all that consenting users can read, and their personal data.
 * `full_without_consent`: everything.
 */
function scopeOf(realm: Realm, type: RealmExport['type']): Scope {
  const { state } = realm
  const channels = [...state.channel.all()]
  const users = [...state.user.all()]
  const isAll = type === 'full_without_consent'
  const agreed = type === 'public' ? [] : users.filter((user) => user.bot === null && (isAll || consents(user)))
  const sights = isAll ? [] : agreed.map((user) => visibilityOf(realm, user))
  const open = new Set(channels.filter(({ isPrivate }) => !isPrivate).map(({ recipientId }) => recipientId))
  const isSeen = (recipient: number) => sights.some((visibility) => visibility.extent(recipient) !== 'none')
  return {
    hasMessage: (row) => isAll || open.has(row.recipient) || sights.some((visibility) => visibility.canRead(row)),
    channels: channels.filter(({ recipientId }) => isAll || open.has(recipientId) || isSeen(recipientId)),
    conversations: [...state.conversation.all()].filter(({ recipientId }) => isAll || isSeen(recipientId)),
    people: agreed,
    ownFiles: new Set((isAll ? users : agreed).map(({ id }) => id)),
  }
}

export const consents = (user: User): boolean => userSetting(user, 'allow_private_data_export')

/** Builds each table only when it is written. Records are immutable, so the tables are consistent. */
function tablesOf(realm: Realm, actor: User, { channels, conversations, people }: Scope): [string, () => unknown][] {
  const { state } = realm
  const organization = organizationOf(state)
  const users = [...state.user.all()]
  const groups = [...state.group.all()]
  const ids = new Set(channels.map(({ id }) => id))
  const subscriptions = [...state.subscription.all()].filter(({ channelId }) => ids.has(channelId))
  const topics = people.map(({ id }) => [id, [...state.userTopicsOf.get(id).values()]] as const)
  return [
    ['organization', () => organizationToJson(realm, organization)],
    ['users', () => users.map((user) => userToJson(user, actor))],
    ['groups', () => groups.map((group) => groupObject(realm, group))],
    ['channels', () => channels],
    ['subscriptions', () => subscriptions.map(({ userId, channelId, isActive }) => ({ userId, channelId, isActive }))],
    ['conversations', () => conversations],
    ['emoji', () => [...state.realmEmoji.all()]],
    ['linkifiers', () => [...state.linkifier.all()]],
    ['profile_fields', () => [...state.profileField.all()]],
    [
      'personal',
      () =>
        people.map((user, index) => ({
          user_id: user.id,
          settings: user.settings,
          topics: defined(topics[index])[1],
          alert_words: state.alertWords.get(user.id)?.value ?? [],
          muted_users: state.mutedUsers.get(user.id)?.value ?? [],
        })),
    ],
  ]
}

/** Leaves out keys and the operator's settings. */
const organizationToJson = (realm: Realm, organization: ReturnType<typeof organizationOf>) => ({
  name: organization.name,
  url: organization.url,
  date_created: organization.dateCreated,
  settings: organization.settings,
  group_settings: realmGroupValues(realm),
})

const userToJson = (user: User, actor: User) => ({
  id: user.id,
  email: user.email,
  delivery_email: seesAddress(actor, user) ? user.deliveryEmail : null,
  full_name: user.fullName,
  role: user.role,
  is_active: user.isActive,
  date_joined: user.dateJoined,
  profile_data: user.profileData,
  bot: user.bot && { type: user.bot.type, owner_id: user.bot.ownerId },
  is_system_bot: user.isSystemBot,
})

/** Adds the ids of uploads that exported messages link to `shown`. */
async function* messageFiles(
  realm: Realm,
  scope: Scope,
  newest: number,
  shown: Set<number>,
): AsyncGenerator<ExportedFile> {
  const { messages, uploads } = realm.store
  let number = 0
  let file: unknown[] = []
  let characters = 0
  const close = (): ExportedFile => {
    const made = jsonFile(`messages-${String(++number).padStart(6, '0')}.json`, file)
    file = []
    characters = 0
    return made
  }
  for (let after = 0; ; ) {
    const rows = messages.exported(after, newest, MESSAGES_A_TURN)
    for (const row of rows) {
      if (!scope.hasMessage(row)) continue
      for (const { id } of uploads.ofMessage(row.id)) shown.add(id)
      file.push(exportedMessageToJson(realm, row))
      characters += row.content.length + row.extra.length
      if (file.length >= MESSAGES_OF_FILE || characters >= CHARACTERS_OF_FILE) yield close()
    }
    if (rows.length < MESSAGES_A_TURN) break
    after = defined(rows.at(-1)).id
    await setImmediate()
  }
  if (file.length > 0) yield close()
}

function exportedMessageToJson(realm: Realm, row: ExportedRow) {
  const location = locationOf(realm, row)
  return {
    id: row.id,
    sender_id: row.sender,
    timestamp: row.time,
    client: row.client,
    ...(location.kind === 'channel'
      ? { channel_id: location.channel.id, topic: location.topic }
      : { user_ids: location.conversation.userIds }),
    content: row.content,
    ...metadataOf(row),
  }
}

const attachmentOf = ({ id, path, owner, name, sizeBytes, time }: UploadRow) => ({
  id,
  path_id: path,
  owner_id: owner,
  name,
  size: sizeBytes,
  create_time: time,
})

function* chunksOf(realm: Realm, { id, sizeBytes }: UploadRow): Generator<Uint8Array> {
  for (let number = 0; number * CHUNK_BYTES < sizeBytes; number++) {
    const chunk = realm.store.files.read(id, number)
    if (chunk === undefined) throw new CofferError('storage', 'A file was deleted while it was read')
    yield chunk
  }
}
