/** Fetches the source of messages, and quotes them in Zulip's form. */

import { call } from './api.ts'
import { changeDraft } from './drafts.ts'
import { conversationOf } from './model/conversation.ts'
import type { RealmView } from './model/realm.ts'
import type { ReceivedMessage } from './model/types.ts'
import { linkTo } from './names.ts'
import { words } from './words/words.ts'

export async function fetchContent(id: number): Promise<string> {
  const { message } = await call<{ message: { content: string } }>('GET', `/messages/${id}`, {
    ...{ apply_markdown: false, allow_empty_topic_name: true },
  })
  return message.content
}

export const linkToMessage = (realm: RealmView, message: ReceivedMessage): string =>
  `${linkTo(realm, conversationOf(message, realm.ownId))}/near/${message.id}`

/** Appends a quote to the draft of the message's conversation. */
export async function quote(realm: RealmView, message: ReceivedMessage): Promise<void> {
  const content = await fetchContent(message.id)
  const fence = fenceAround(content)
  const said = words.said(
    `@_**${message.sender_full_name}|${message.sender_id}**`,
    `${location.origin}/${linkToMessage(realm, message)}`,
  )
  await changeDraft(conversationOf(message, realm.ownId), (typed) => {
    const before = typed === '' ? '' : `${typed.trimEnd()}\n\n`
    return `${before}${said}:\n${fence}quote\n${content}\n${fence}\n`
  })
}

/** A fence longer than all fences in the text. */
const fenceAround = (content: string): string =>
  '`'.repeat(Math.max(3, ...Array.from(content.matchAll(/^ *(`{3,})/gm), ([, ticks = '']) => ticks.length + 1)))
