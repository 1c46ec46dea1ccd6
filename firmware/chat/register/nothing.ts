/** Blocks of what an organisation cannot have here: clients read them from their start. Contract 4.2. */

import type { Block } from './block.ts'

export const giphy: Block = () => ({ giphy_api_key: '' })
export const tenor: Block = () => ({ tenor_api_key: '' })
export const realmBilling: Block = () => ({ realm_billing: { has_pending_sponsorship_request: false } })
export const realmFilters: Block = () => ({ realm_filters: [] })
export const videoCalls: Block = () => ({ has_zoom_token: false })
/** Words that a search leaves out: ours finds every word. */
export const stopWords: Block = () => ({ stop_words: [] })
