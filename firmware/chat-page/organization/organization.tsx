/** The organization, for its owners and administrators: what the API allows them, in sections. */

import type { ComponentChildren } from 'preact'
import { addressOfArea } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { isAdministrator, isOwner, mayInRealm, mayInvite } from '../model/rights.ts'
import type { AreaProps } from '../views/area.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { Sections } from '../views/sections.tsx'
import { type OrganizationSectionName, words } from '../words/words.ts'
import { AllBotsSection } from './all-bots.tsx'
import { FoldersSection } from './channel-folders.tsx'
import { DefaultsSection } from './defaults.tsx'
import { DomainsSection } from './domains.tsx'
import { EmojiSection } from './emoji.tsx'
import { ExportsSection } from './exports.tsx'
import { FieldsSection } from './fields.tsx'
import { GroupsSection } from './groups.tsx'
import { InvitationsSection } from './invitations.tsx'
import { LinkifiersSection } from './linkifiers.tsx'
import { PeopleSection } from './people.tsx'
import { PermissionsSection } from './permissions.tsx'
import { PlaygroundsSection } from './playgrounds.tsx'
import { ProfileSection } from './profile.tsx'
import { RulesSection } from './rules.tsx'

export interface OrganizationProps {
  realm: RealmView
  revision: number
}

interface OrganizationSection {
  readonly show: (props: OrganizationProps) => ComponentChildren
  /** Administrators by default. */
  readonly isFor?: (realm: RealmView) => boolean
}

const SECTIONS: Readonly<Record<OrganizationSectionName, OrganizationSection>> = {
  profile: { show: ProfileSection },
  people: { show: PeopleSection },
  invitations: { show: InvitationsSection, isFor: mayInvite },
  permissions: { show: PermissionsSection },
  rules: { show: RulesSection },
  defaults: { show: DefaultsSection },
  channels: { show: FoldersSection },
  groups: { show: GroupsSection, isFor: (realm) => isAdministrator(realm) || mayInRealm(realm, 'can_create_groups') },
  bots: { show: AllBotsSection },
  emoji: {
    show: EmojiSection,
    isFor: (realm) => isAdministrator(realm) || mayInRealm(realm, 'can_add_custom_emoji_group'),
  },
  fields: { show: FieldsSection },
  linkifiers: { show: LinkifiersSection },
  playgrounds: { show: PlaygroundsSection },
  domains: { show: DomainsSection, isFor: isOwner },
  exports: { show: ExportsSection },
}

const NAMES = Object.keys(SECTIONS) as OrganizationSectionName[]

export function OrganizationView({ realm, path, revision }: AreaProps) {
  const allowed = NAMES.filter((name) => (SECTIONS[name].isFor ?? isAdministrator)(realm))
  const name = allowed.find((one) => one === path[0]) ?? allowed[0]
  if (name === undefined)
    return (
      <div class="view">
        <ViewTitle title={words.organization} />
        <p class="empty">{words.notForYou}</p>
      </div>
    )
  const { show: Section } = SECTIONS[name]
  return (
    <div class="view">
      <ViewTitle title={words.organizationSections[name]} />
      <Sections
        label={words.organization}
        all={allowed.map((one) => [one, words.organizationSections[one]])}
        here={name}
        linkTo={(one) => addressOfArea('organization', one)}
      />
      <Section realm={realm} revision={revision} />
    </div>
  )
}
