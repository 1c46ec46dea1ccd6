/** Settings of the account, in sections. Each change is saved at once. */

import type { ComponentChildren } from 'preact'
import { addressOfArea } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import type { AreaProps } from '../views/area.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { Sections } from '../views/sections.tsx'
import { type SettingsSection, words } from '../words/words.ts'
import { AccountSection } from './account.tsx'
import { AlertWordsSection } from './alert-words.tsx'
import { DevicesSection } from './devices.tsx'
import { FilesSection } from './files.tsx'
import { MutedSection } from './muted.tsx'
import { OwnBotsSection } from './own-bots.tsx'
import { DisplaySection, NotificationsSection, PrivacySection } from './preferences.tsx'
import { ProfileSection } from './profile.tsx'

export interface SectionProps {
  realm: RealmView
  revision: number
}

const SECTIONS: Readonly<Record<SettingsSection, (props: SectionProps) => ComponentChildren>> = {
  profile: ProfileSection,
  account: AccountSection,
  devices: DevicesSection,
  notifications: NotificationsSection,
  display: DisplaySection,
  privacy: PrivacySection,
  'alert-words': AlertWordsSection,
  muted: MutedSection,
  bots: OwnBotsSection,
  files: FilesSection,
}

const NAMES = Object.keys(SECTIONS) as SettingsSection[]

export function SettingsView({ realm, path, revision }: AreaProps) {
  const name = NAMES.find((one) => one === path[0]) ?? 'profile'
  const Section = SECTIONS[name]
  return (
    <div class="view">
      <ViewTitle title={words.settingsSections[name]} />
      <Sections
        label={words.settings}
        all={NAMES.map((one) => [one, words.settingsSections[one]])}
        here={name}
        linkTo={(one) => addressOfArea('settings', one)}
      />
      <Section realm={realm} revision={revision} />
    </div>
  )
}
