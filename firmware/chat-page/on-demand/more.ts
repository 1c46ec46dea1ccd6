/** Views that few visits need, in a script of their own. */

import { ChannelsView } from '../channels/channels.tsx'
import { NewDirectView } from '../people/new-direct.tsx'
import { PeopleView } from '../people/people.tsx'
import { PersonView } from '../people/person.tsx'
import { SearchView } from '../search/search.tsx'
import { SettingsView } from '../settings/settings.tsx'
import { AboutView } from '../views/about.tsx'
import { RecentView } from '../views/recent.tsx'

export { shrink } from '../compose/picture.ts'
export { SnippetMenu } from '../compose/snippets.tsx'
export { HistoryDialog, ReadersDialog, ReportDialog } from '../messages/details.tsx'
export { MoveDialog } from '../messages/move.tsx'
export { TopicDialog } from '../messages/topic-dialog.tsx'
export { EditMessage } from '../views/edit-message.tsx'
export { Later } from '../views/later.tsx'
export { ShortcutList } from '../views/shortcuts-dialog.tsx'
export { Switcher } from '../views/switcher.tsx'

export const AREAS = {
  recent: RecentView,
  about: AboutView,
  search: SearchView,
  'new-direct': NewDirectView,
  channels: ChannelsView,
  people: PeopleView,
  user: PersonView,
  settings: SettingsView,
}
