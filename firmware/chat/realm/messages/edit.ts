/** Editing of content, and the entry point of `PATCH /messages/{message_id}`. Contract sections 3.2.2, 7.3; V51. */

import { createHash } from 'node:crypto'
import { defined } from '../../../base/defined.ts'
import { badRequest, ChatError } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { CONTENT_BITS, IS_ME, IS_WIDGET } from '../model/content-flags.ts'
import type { EditRecord } from '../model/message-metadata.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { shownHtml } from '../objects/rendering.ts'
import { type Attachment, claimUploads } from '../objects/upload-claims.ts'
import { accessMessageToChange, audienceOf } from './access.ts'
import { LEEWAY_S } from './delete.ts'
import { readerOf } from './flags.ts'
import { locationOf, recipientsOf } from './location.ts'
import { expectMayMention, mentionBits } from './mentions.ts'
import { moveMessages } from './move.ts'
import { type Move, type PropagateMode, planMove } from './move-check.ts'
import { bitsOf, draftOf, type RenderedDraft } from './send.ts'
import { metadataWithMoves, writeExtra } from './topic-history.ts'

interface EditRequest {
  content: string | undefined
  prevContentSha256: string | undefined
  topic: string | undefined
  channelId: number | undefined
  propagateMode: PropagateMode
  notifyOldThread: boolean
  notifyNewThread: boolean
}

/** Limit on all earlier contents of a message with their HTML. They are sent with the message and rewritten with each edit. */
const HISTORY_CHARACTERS_MAX = 2_000_000

const DELETED = '(deleted)'
const orDeleted = (content: string): string => (content.trim() === '' ? DELETED : content)

/** Returns the uploads that no message links any more. */
export function editMessage(realm: Realm, me: User, id: number, request: EditRequest): Attachment[] {
  const draft = request.content === undefined ? null : draftOf(realm, me, orDeleted(request.content))
  return realm.transaction((tx) => {
    const row = accessMessageToChange(realm, me, id)
    const { content, channelId, topic, propagateMode } = request
    if (content === undefined && topic === undefined && channelId === undefined) throw badRequest('Nothing to change')
    if (content !== undefined && channelId !== undefined)
      throw badRequest('Cannot change message content while changing channel')
    if (propagateMode !== 'change_one' && topic === undefined && channelId === undefined)
      throw badRequest('Invalid propagate_mode without topic edit')
    if (content !== undefined) expectMayEdit(realm, me, row, request.prevContentSha256)
    const move = planMove(realm, me, row, request)
    const edited = draft === null ? null : planEdit(realm, me, row, draft)
    if (edited === null && move === null) throw badRequest('Nothing to change')
    const detached = edited === null ? [] : applyEdit(realm, tx, me, row, edited, move)
    if (move !== null) moveMessages(realm, tx, me, move, edited === null ? null : edited.event)
    return detached
  })
}

function expectMayEdit(realm: Realm, me: User, row: MessageRow, prevContentSha256: string | undefined): void {
  const organization = organizationOf(realm.state)
  if (!realmSetting(organization, 'allow_message_editing'))
    throw badRequest('Your organization has turned off message editing')
  if (row.sender !== me.id) throw badRequest("You don't have permission to edit this message")
  if (row.bits & IS_WIDGET) throw badRequest('Widgets cannot be edited.')
  const limit = realmSetting(organization, 'message_content_edit_limit_seconds')
  if (limit !== null && nowOf(realm) - row.time > limit + LEEWAY_S)
    throw badRequest('The time limit for editing this message has passed')
  if (prevContentSha256 === undefined) return
  const hash = createHash('sha256').update(row.content).digest('hex')
  if (hash !== prevContentSha256.toLowerCase())
    throw new ChatError('EXPECTATION_MISMATCH', "'prev_content_sha256' value does not match the expected value.")
}

interface PlannedEdit {
  row: MessageRow
  pathIds: readonly string[]
  bits: ReadonlyMap<number, number>
  event: Record<string, unknown>
}

/** Returns null if the content is unchanged. */
function planEdit(realm: Realm, me: User, row: MessageRow, { content, rendered }: RenderedDraft): PlannedEdit | null {
  if (content === row.content) return null
  const location = locationOf(realm, row)
  expectMayMention(realm, me, location, rendered)
  const now = nowOf(realm)
  const extra = metadataWithMoves(realm, row)
  const before = [row.content, row.html, ...(extra.edits ?? []).flatMap(saidBefore)]
  if (before.reduce((sum, text) => sum + text.length, 0) > HISTORY_CHARACTERS_MAX)
    throw badRequest('This message has been edited too often: what it said before is too long')
  const edit = { timestamp: now, user_id: me.id, prev_content: row.content, prev_rendered_content: row.html }
  return {
    row: {
      ...row,
      content,
      html: rendered.html,
      bits: (row.bits & ~CONTENT_BITS) | bitsOf(content, rendered),
      extra: writeExtra(realm, row.topic, { ...extra, edits: [edit, ...(extra.edits ?? [])], edited: now }),
    },
    pathIds: rendered.pathIds,
    bits: mentionBits(realm, location, rendered, recipientsOf(realm, location)),
    event: {
      orig_content: row.content,
      orig_rendered_content: shownHtml(realm, row.html),
      content,
      rendered_content: rendered.html,
      is_me_message: (bitsOf(content, rendered) & IS_ME) !== 0,
    },
  }
}

const saidBefore = ({ prev_content: content = '', prev_rendered_content: html = '' }: EditRecord): string[] => [
  content,
  html,
]

function applyEdit(
  realm: Realm,
  tx: Transaction,
  me: User,
  before: MessageRow,
  edited: PlannedEdit,
  move: Move | null,
): Attachment[] {
  const { flags, messages } = realm.store
  const { row, bits } = edited
  messages.update(row)
  for (const { user } of flags.mentionsOf(row.id)) if (!bits.has(user)) flags.setMention(user, row.id, 0)
  for (const [user, bit] of bits) flags.setMention(user, row.id, bit)
  const detached = claimUploads(realm, tx, row, edited.pathIds)
  if (move === null) publishEdit(realm, tx, me, before, edited)
  return detached
}

function publishEdit(realm: Realm, tx: Transaction, me: User, row: MessageRow, { event }: PlannedEdit): void {
  const location = locationOf(realm, row)
  const readers = new Map(audienceOf(realm, row).map((user) => [user.id, readerOf(realm, user)]))
  tx.publish({
    type: 'update_message',
    to: readers.keys(),
    make: () => ({
      user_id: me.id,
      edit_timestamp: nowOf(realm),
      message_id: row.id,
      message_ids: [row.id],
      rendering_only: false,
      ...(location.kind === 'channel' && {
        stream_name: location.channel.name,
        stream_id: location.channel.id,
      }),
      ...event,
    }),
    tail: ({ userId }) => ({ flags: defined(readers.get(userId)).flagsInUpdate(row) }),
  })
}
