/** Blocks of what an organisation cannot have here, or cannot have yet: clients read them from their start. Contract 4.2. */

import type { Block } from './block.ts'

/** As the names of types go with their numbers, also while there is no field. Contract section 2.5. */
const FIELD_TYPES = {
  SHORT_TEXT: { id: 1, name: 'Text (short)' },
  LONG_TEXT: { id: 2, name: 'Text (long)' },
  SELECT: { id: 3, name: 'List of options' },
  DATE: { id: 4, name: 'Date' },
  URL: { id: 5, name: 'Link' },
  USER: { id: 6, name: 'Users' },
  EXTERNAL_ACCOUNT: { id: 7, name: 'External account' },
  PRONOUNS: { id: 8, name: 'Pronouns' },
}

export const customProfileFields: Block = () => ({
  custom_profile_fields: [],
  custom_profile_field_types: FIELD_TYPES,
})
export const giphy: Block = () => ({ giphy_api_key: '' })
export const tenor: Block = () => ({ tenor_api_key: '' })
export const pushDevice: Block = () => ({ push_devices: {} })
export const realmBilling: Block = () => ({ realm_billing: { has_pending_sponsorship_request: false } })
export const realmDomains: Block = () => ({ realm_domains: [] })
export const realmFilters: Block = () => ({ realm_filters: [] })
export const realmLinkifiers: Block = () => ({ realm_linkifiers: [] })
export const realmPlaygrounds: Block = () => ({ realm_playgrounds: [] })
export const videoCalls: Block = () => ({ has_zoom_token: false })
/** Words that a search leaves out: ours finds every word. */
export const stopWords: Block = () => ({ stop_words: [] })
