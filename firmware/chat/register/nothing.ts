/** Blocks of what an organisation cannot have here: clients read them from their start. Contract 4.2. */

import type { Block, OpenBlock } from './block.ts'

export const giphy: OpenBlock = () => ({ giphy_api_key: '' })
export const tenor: OpenBlock = () => ({ tenor_api_key: '' })
export const realmBilling: Block = () => ({ realm_billing: { has_pending_sponsorship_request: false } })
export const realmFilters: OpenBlock = () => ({ realm_filters: [] })
export const videoCalls: Block = () => ({ has_zoom_token: false })
/** Words that a search leaves out: ours finds every word. */
export const stopWords: OpenBlock = () => ({ stop_words: [] })
