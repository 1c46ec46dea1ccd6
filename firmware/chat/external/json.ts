/** Shows any JSON object unchanged. Contract section 3.5.2. */

import { AnomalousPayload, type Integration } from './integration.ts'
import { codeBlock, cut } from './text.ts'

const SHOWN_CHARACTERS_MAX = 9_900 // leaves room for the fences in a message of 10,000

export const json: Integration = {
  name: 'json',
  displayName: 'JSON',
  events: null,
  mentions: 'kept',
  read({ payload }) {
    if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) throw new AnomalousPayload()
    const text = cut(JSON.stringify(payload, null, 2), SHOWN_CHARACTERS_MAX)
    return { event: null, messages: [{ topic: 'JSON', text: codeBlock(text, 'json') }] }
  },
}
