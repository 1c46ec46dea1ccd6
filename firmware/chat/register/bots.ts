/** Register sections of bots: the caller's own, and the kinds of bots that Zulip offers. Contract section 4.2. */

import { INTEGRATIONS } from '../external/integrations.ts'
import { botObject, managedBots } from '../realm/objects/bot-view.ts'
import { EMBEDDED_BOTS } from '../realm/objects/embedded-bots.ts'
import type { RegisterSection } from './section.ts'

export const realmBot: RegisterSection = ({ realm, me }) => ({
  realm_bots: managedBots(realm, me).map((bot) => botObject(realm, bot)),
})

export const realmEmbeddedBots: RegisterSection = () => ({
  realm_embedded_bots: EMBEDDED_BOTS.map(({ name, config }) => ({ name, config })),
})

export const realmIncomingWebhookBots: RegisterSection = () => ({
  realm_incoming_webhook_bots: INTEGRATIONS.map(({ name, displayName, events, urlOptions }) => ({
    name,
    display_name: displayName,
    all_event_types: events,
    // `input_type` is the name since level 485.
    ...(urlOptions !== undefined && {
      url_options: urlOptions.map((option) => ({ ...option, input_type: option.validator })),
    }),
  })),
})
