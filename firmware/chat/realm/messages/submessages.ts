/** Actions of users on a poll or to-do list, stored with the message in their order. Contract row E28, 6.5, V48. */

import { z } from 'zod'
import { nameString } from '../../base/characters.ts'
import { badRequest, invalidParameter } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { IS_WIDGET } from '../model/content-flags.ts'
import { metadataOf, type Submessage } from '../model/message-metadata.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { accessMessageToChange, audienceOf } from './access.ts'
import { CHOICES, OPTIONS_MAX, type Widget } from './widgets.ts'

const CONTENT_CHARACTERS_MAX = 10_000
const ALL_CHARACTERS_MAX = 256 * 1024 // per message: all are sent with it and rewritten with each one

const option = z
  .int()
  .min(0)
  .max(OPTIONS_MAX - 1)

export const POLL = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('vote'), key: z.string(), vote: z.literal([1, -1]) }),
  z.strictObject({ type: z.literal('question'), question: nameString() }),
  z.strictObject({ type: z.literal('new_option'), option: nameString(), idx: option }),
])

export const TODO = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('new_task'),
    key: option,
    task: nameString(),
    desc: nameString(),
    completed: z.boolean(),
  }),
  z.strictObject({ type: z.literal('strike'), key: z.string() }),
  z.strictObject({ type: z.literal('new_task_list_title'), title: nameString() }),
])

export const POLL_WIDGET = z.strictObject({
  widget_type: z.literal('poll'),
  extra_data: z.strictObject({ question: nameString().optional(), options: z.array(nameString()).optional() }),
})
export const TODO_WIDGET = z.strictObject({
  widget_type: z.literal('todo'),
  extra_data: z.strictObject({
    task_list_title: nameString().optional(),
    tasks: z.array(z.strictObject({ task: nameString(), desc: nameString() })).optional(),
  }),
})

const OF_AUTHOR: ReadonlySet<string> = new Set(['question', 'new_task_list_title'])

/** Throws `BAD_REQUEST` if `content` is not valid for the widget. */
export function addSubmessage(realm: Realm, me: User, messageId: number, content: string): void {
  const data = parsed(content)
  realm.transaction((turn) => {
    const row = accessMessageToChange(realm, me, messageId)
    const extra = metadataOf(row)
    const before = extra.submessages ?? []
    expectMeaning(me, row, before, data)
    if (before.reduce((sum, one) => sum + one.content.length, content.length) > ALL_CHARACTERS_MAX)
      throw badRequest('There is too much on this message already')
    const id = turn.nextId('submessage')
    const added: Submessage = { id, message_id: row.id, sender_id: me.id, msg_type: 'widget', content }
    const after = { ...extra, submessages: [...before, added] }
    realm.store.messages.update({ ...row, bits: row.bits | IS_WIDGET, extra: JSON.stringify(after) })
    const body = { submessage_id: id, message_id: row.id, sender_id: me.id, msg_type: 'widget', content }
    turn.publish({ type: 'submessage', to: audienceOf(realm, row).map((user) => user.id), make: () => body })
  })
}

function parsed(content: string): unknown {
  if ([...content].length > CONTENT_CHARACTERS_MAX)
    throw invalidParameter('content', `content must have at most ${CONTENT_CHARACTERS_MAX} characters`)
  try {
    return JSON.parse(content)
  } catch {
    throw badRequest('Invalid json for submessage')
  }
}

function expectMeaning(me: User, row: MessageRow, before: readonly Submessage[], data: unknown): void {
  const isAuthor = row.sender === me.id
  const [first] = before
  if (first === undefined) {
    if (!isAuthor) throw badRequest('You cannot attach a submessage to this message.')
    const isWidget = [POLL_WIDGET, TODO_WIDGET, ...(me.bot === null ? [] : [CHOICES])].some(
      (schema) => schema.safeParse(data).success,
    )
    if (!isWidget) throw badRequest('This begins no widget.')
    return
  }
  const { widget_type: type } = JSON.parse(first.content) as Widget
  const schema = type === 'poll' ? POLL : type === 'todo' ? TODO : null
  const event = schema?.safeParse(data)
  if (event?.success !== true) throw badRequest(`This means nothing to a ${type} widget.`)
  if (OF_AUTHOR.has(event.data.type) && !isAuthor) throw badRequest('Only the author of the message may change that.')
}
