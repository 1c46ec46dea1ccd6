/** Line that says who is typing. It always has its place, so it moves nothing. */

import { useEffect, useState } from 'preact/hooks'
import { type ConversationRef, keyOf } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { personName } from '../names.ts'
import { words } from '../words/words.ts'

const NAMED_MAX = 3

export function TypingNotice({ realm, conversation }: { realm: RealmView; conversation: ConversationRef }) {
  const place = keyOf(conversation)
  useEnd(realm.typists.endMs(place))
  const shown = realm.typists.at(place).filter((id) => id !== realm.ownId && !realm.mutedUsers.has(id))
  return (
    <p class="typing soft">
      {shown.length > NAMED_MAX
        ? words.severalTyping
        : shown.length > 0 &&
          words.typing(
            shown.map((id) => personName(realm, id)),
            shown.length,
          )}
    </p>
  )
}

/** Renders the component again at that time, in Unix milliseconds. */
function useEnd(endMs: number | null): void {
  const [, setEnded] = useState<number | null>(null)
  useEffect(() => {
    if (endMs === null) return
    const timer = setTimeout(() => setEnded(endMs), Math.max(0, endMs - Date.now()) + 1)
    return () => clearTimeout(timer)
  }, [endMs])
}
