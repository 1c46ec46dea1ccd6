/** Messages of all conversations that are not muted, as one list. */

import type { ListSource } from '../model/message-list.ts'
import { isMuted, type RealmView } from '../model/realm.ts'
import { words } from '../words/words.ts'
import { ViewTitle } from './frame.tsx'
import { ListArea, useList } from './list-area.tsx'

const feedOf = (realm: RealmView): ListSource => ({
  ...{ key: 'feed', conversation: null, narrow: [{ operator: 'in', operand: 'home' }] },
  holds: (conversation) => !isMuted(realm, conversation),
})

/** `revision` renders the view again after each event. */
export function FeedView({ realm }: { realm: RealmView; revision: number }) {
  const open = useList(realm, feedOf(realm), null)
  const newest = open.list?.messages.at(-1)?.id ?? 0
  const newer = realm.unread
    .groups()
    .filter(({ conversation }) => !isMuted(realm, conversation))
    .reduce((sum, { ids }) => sum + ids.filter((id) => id > newest || open.list?.hasNewest).length, 0)
  return (
    <div class="view filled">
      <ViewTitle title={words.feed} />
      <ListArea realm={realm} open={open} near={null} pending={[]} newer={newer} />
    </div>
  )
}
