/** Register sections of settings that administrators make for all users. Contract section 4.2. */

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

/** Clients without support for URL templates get an empty list. */
export const realmLinkifiers: OpenRegisterSection = ({ realm, shape }) => ({
  realm_linkifiers: shape.can.linkifier_url_template ? linkifierObjects(realm) : [],
})

export const realmPlaygrounds: OpenRegisterSection = ({ realm }) => ({ realm_playgrounds: playgroundObjects(realm) })
