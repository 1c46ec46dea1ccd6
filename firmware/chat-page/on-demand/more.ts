/** Views that few visits need, in a script of their own. */

import { ChannelsView } from '../channels/channels.tsx'
import { NewDirectView } from '../people/new-direct.tsx'
import { PeopleView } from '../people/people.tsx'
import { PersonView } from '../people/person.tsx'
import { SearchView } from '../search/search.tsx'
import { SettingsView } from '../settings/settings.tsx'

export { SnippetMenu } from '../compose/snippets.tsx'
export { HistoryDialog, ReadersDialog, ReportDialog } from '../messages/details.tsx'

export const AREAS = {
  search: SearchView,
  'new-direct': NewDirectView,
  channels: ChannelsView,
  people: PeopleView,
  user: PersonView,
  settings: SettingsView,
}
