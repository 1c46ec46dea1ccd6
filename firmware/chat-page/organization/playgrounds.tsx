/** Places on the web that run code of messages. */

import { call } from '../api.ts'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { RecordList } from './record-list.tsx'

interface Playground {
  id: number
  name: string
  pygments_language: string
  url_template: string
}

export function PlaygroundsSection({ realm }: OrganizationProps) {
  const all = (realm.organization.playgrounds ?? []) as readonly Playground[]
  return (
    <>
      <p class="soft lead">{words.playgroundsLead}</p>
      <RecordList
        newLabel={words.newPlayground}
        empty={words.noPlaygrounds}
        records={all.map(({ id, name, pygments_language: language, url_template: url }) => ({
          ...{ id, title: `${name} (${language})`, about: url },
        }))}
        fields={[
          { name: 'name', label: words.name, required: true },
          { name: 'pygments_language', label: words.codeLanguage, required: true },
          { name: 'url_template', label: words.urlTemplate, hint: words.playgroundUrlHint, required: true },
        ]}
        add={(values) => call('POST', '/realm/playgrounds', values)}
        remove={(id) => call('DELETE', `/realm/playgrounds/${id}`)}
      />
    </>
  )
}
