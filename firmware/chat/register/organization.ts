/** Blocks of what administrators make for everybody. Contract section 4.2. */

import { domainObjects } from '../realm/organization/settings/domains.ts'
import { linkifierObjects } from '../realm/organization/settings/linkifiers.ts'
import { playgroundObjects } from '../realm/organization/settings/playgrounds.ts'
import { fieldObjects } from '../realm/organization/users/profile-fields.ts'
import { FIELD_TYPES } from '../realm/organization/users/profile-types.ts'
import type { OpenRegisterSection, RegisterSection } from './section.ts'

export const customProfileFields: RegisterSection = ({ realm }) => ({
  custom_profile_fields: fieldObjects(realm),
  custom_profile_field_types: FIELD_TYPES,
})

export const realmDomains: RegisterSection = ({ realm }) => ({ realm_domains: domainObjects(realm) })

/** Clients that know no templates get none. */
export const realmLinkifiers: OpenRegisterSection = ({ realm, shape }) => ({
  realm_linkifiers: shape.can.linkifier_url_template ? linkifierObjects(realm) : [],
})

export const realmPlaygrounds: OpenRegisterSection = ({ realm }) => ({ realm_playgrounds: playgroundObjects(realm) })
