/** Sections and entries of the view of unsent texts. */

import type { ComponentChildren } from 'preact'
import { Action } from '../../web/controls.tsx'
import type { ConversationRef } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { fullName, linkTo } from '../names.ts'
import { words } from '../words/words.ts'

export function Section({ title, children }: { title: string; children: ComponentChildren }) {
  if (!Array.isArray(children) || children.length === 0) return null
  return (
    <section class="group">
      <h2>{title}</h2>
      <ul class="rows">{children}</ul>
    </section>
  )
}

export function Entry(props: {
  realm: RealmView
  conversation: ConversationRef | null
  text: string
  edit?: () => void
  remove?: () => void
  children?: ComponentChildren
}) {
  const { realm, conversation, text, edit, remove, children } = props
  return (
    <li class="row-entry">
      <div>
        {conversation !== null && <a href={linkTo(realm, conversation)}>{fullName(realm, conversation)}</a>}
        <p class="excerpt" dir="auto">
          {text}
        </p>
        {children}
      </div>
      <div class="row">
        {edit && (
          <Action kind="small" onClick={edit}>
            {words.edit}
          </Action>
        )}
        {remove && (
          <Action kind="small" onClick={remove}>
            {words.remove}
          </Action>
        )}
      </div>
    </li>
  )
}
