/** Reactions to a message. A click adds or removes one's own. */

import { react } from '../message-acts.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReactionOfMessage, ReceivedMessage } from '../model/types.ts'
import { personName } from '../names.ts'
import { listOf } from '../words/format.ts'
import { words } from '../words/words.ts'
import { EmojiFace } from './emoji-picker.tsx'

export function Reactions({ realm, message }: { realm: RealmView; message: ReceivedMessage }) {
  const groups = new Map<string, { emoji: ReactionOfMessage; people: number[] }>()
  for (const emoji of message.reactions) {
    const key = `${emoji.reaction_type} ${emoji.emoji_code}`
    const group = groups.get(key) ?? { emoji, people: [] }
    group.people.push(emoji.user_id)
    groups.set(key, group)
  }
  return (
    <ul class="reactions">
      {[...groups].map(([key, { emoji, people }]) => {
        const isOwn = people.includes(realm.ownId)
        const who = listOf(people.map((id) => personName(realm, id)))
        return (
          <li key={key}>
            <button
              type="button"
              class="reaction"
              aria-pressed={isOwn}
              aria-label={words.reactionBy(emoji.emoji_name, who)}
              title={`:${emoji.emoji_name}: ${who}`}
              onClick={() => void react(message.id, !isOwn, emoji)}
            >
              <EmojiFace realm={realm} type={emoji.reaction_type} code={emoji.emoji_code} /> {people.length}
            </button>
          </li>
        )
      })}
    </ul>
  )
}
