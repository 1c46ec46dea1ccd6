/** Reactions to a message. A click adds or removes one's own. */

import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReactionOfMessage, ReceivedMessage } from '../model/types.ts'
import { personName } from '../names.ts'
import { attempt } from '../problems.ts'
import * as words from '../words/en.ts'
import { EmojiFace } from './emoji-picker.tsx'

type ChosenEmoji = Pick<ReactionOfMessage, 'emoji_name' | 'emoji_code' | 'reaction_type'>

export const react = (messageId: number, isAdded: boolean, emoji: ChosenEmoji): Promise<boolean> => {
  const { emoji_name, emoji_code, reaction_type } = emoji
  const values = { emoji_name, emoji_code, reaction_type }
  return attempt(call(isAdded ? 'POST' : 'DELETE', `/messages/${messageId}/reactions`, values))
}

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
        const who = words.names(people.map((id) => personName(realm, id)))
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
