/** Constant register sections for features that this server lacks. Clients read them at startup. Contract 4.2. */

import type { OpenRegisterSection, RegisterSection } from './section.ts'

export const giphy: OpenRegisterSection = () => ({ giphy_api_key: '' })
export const tenor: OpenRegisterSection = () => ({ tenor_api_key: '' })
export const realmBilling: RegisterSection = () => ({ realm_billing: { has_pending_sponsorship_request: false } })
export const realmFilters: OpenRegisterSection = () => ({ realm_filters: [] })
export const videoCalls: RegisterSection = () => ({ has_zoom_token: false, has_webex_token: false })
/** Empty, because the search indexes every word. */
export const stopWords: OpenRegisterSection = () => ({ stop_words: [] })
