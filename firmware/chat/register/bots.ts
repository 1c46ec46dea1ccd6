/** Blocks of bots: those that the caller may manage, and kinds of bots that others have. Contract section 4.2. */

import { botObject, managedBots } from '../realm/objects/bot-view.ts'
import { EMBEDDED_BOTS } from '../realm/objects/embedded-bots.ts'
import type { RegisterSection } from './section.ts'

export const realmBot: RegisterSection = ({ realm, me }) => ({
  realm_bots: managedBots(realm, me).map((bot) => botObject(realm, bot, me.id)),
})

export const realmEmbeddedBots: RegisterSection = () => ({
  realm_embedded_bots: EMBEDDED_BOTS.map(({ name, config }) => ({ name, config })),
})

export const realmIncomingWebhookBots: RegisterSection = () => ({ realm_incoming_webhook_bots: [] })
