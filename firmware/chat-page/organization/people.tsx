/** Accounts: the whole list, and a form that makes one without an invitation. */

import { call } from '../api.ts'
import { addressOfArea } from '../model/conversation.ts'
import { wordFor, words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { RecordList } from './record-list.tsx'

export function PeopleSection({ realm }: OrganizationProps) {
  const people = [...realm.people.values()]
    .filter(({ is_bot: isBot }) => !isBot)
    .sort((a, b) => (a.role ?? 0) - (b.role ?? 0) || a.full_name.localeCompare(b.full_name))
  return (
    <>
      <p class="soft lead">{words.peopleLead}</p>
      <RecordList
        newLabel={words.newAccount}
        empty={words.nobodyFound}
        records={people.map((one) => ({
          id: one.user_id,
          title: one.full_name,
          about: (
            <>
              {wordFor(words.roles, one.role ?? 0)}
              {one.is_active === false && ` · ${words.deactivated}`} ·{' '}
              <a href={addressOfArea('user', one.user_id)} aria-label={words.manageNamed(one.full_name)}>
                {words.manage}
              </a>
            </>
          ),
        }))}
        fields={[
          { name: 'email', label: words.email, required: true },
          { name: 'full_name', label: words.name, required: true },
          { name: 'password', label: words.firstPassword, hint: words.firstPasswordHint, required: true },
        ]}
        add={(values) => call('POST', '/users', values)}
      />
    </>
  )
}
