/** The organization and its server: who can read, how long messages stay, which version runs. */

import type { ComponentChildren } from 'preact'
import { ownMedia } from '../message/links.ts'
import { addressOfArea } from '../model/conversation.ts'
import { words } from '../words/words.ts'
import type { AreaProps } from './area.tsx'
import { ViewTitle } from './frame.tsx'

const OWNER = 100
const FOREVER = -1

export function AboutView({ realm }: AreaProps) {
  const { organization, people } = realm
  const owners = [...people.values()].filter((one) => one.role === OWNER && one.is_active !== false && !one.is_bot)
  const days = Number(organization.message_retention_days ?? FOREVER)
  const { icon_url: icon, description } = organization
  const picture = typeof icon === 'string' ? ownMedia(icon, location.origin) : null
  const rows: [string, ComponentChildren][] = [
    [words.aboutStorage, words.aboutStorageText],
    [words.aboutReaders, organization.owner_full_content_access === true ? words.aboutOwnersRead : words.aboutNoOwners],
    [words.aboutRetention, days > 0 ? words.aboutDays(days) : words.aboutForever],
    [
      words.aboutOwners,
      <ul class="tags" key="owners">
        {owners.map((one) => (
          <li key={one.user_id}>
            <a href={addressOfArea('user', one.user_id)}>{one.full_name}</a>
          </li>
        ))}
      </ul>,
    ],
    [words.aboutVersion, words.aboutVersionText(realm.serverVersion, realm.featureLevel)],
  ]
  return (
    <div class="view">
      <ViewTitle title={words.aboutOf(realm.name)} />
      <section class="form">
        <div class="profile">
          {picture !== null && <img class="face huge contained" src={picture} alt="" />}
          {typeof description === 'string' && description !== '' && <p dir="auto">{description}</p>}
        </div>
        <dl class="facts">
          {rows.map(([label, value]) => (
            <>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </>
          ))}
        </dl>
      </section>
    </div>
  )
}
