/** Services behind bots: a foreign address (type 3) or a program of the chat itself (type 4). Contract section 3.5. */

import { badRequest, invalidParameter } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { Bot, BotService } from '../model/records.ts'
import { openText, sealText } from '../model/secrets.ts'
import { embeddedBot } from './embedded-bots.ts'
import { randomKey } from './keys.ts'

export const BOT_TYPES = { generic: 1, incomingWebhook: 2, outgoingWebhook: 3, embedded: 4 } as const
export type BotType = (typeof BOT_TYPES)[keyof typeof BOT_TYPES]

const URL_CHARACTERS_MAX = 2000
const CONFIG_CHARACTERS_MAX = 10_000 // of one value: the limit of a message

export type WebhookForm = 1 | 2
type BotConfig = Readonly<Record<string, string>>

/** Input for a new bot. Members that do not apply to its type are ignored. */
export interface GivenService {
  url: string
  form: WebhookForm
  name: string | undefined
  config: BotConfig
  /** Feature level of the client that creates the bot. Contract section 8. */
  level: number | null
}

export function newService(realm: Realm, type: BotType, input: GivenService): BotService | undefined {
  if (type === BOT_TYPES.outgoingWebhook) {
    const sealedToken = sealText(realm, randomKey(realm.random))
    const url = webhookUrl(input.url, 'payload_url')
    const { form, level } = input
    return { kind: 'outgoing', url, form, sealedToken, ...(level !== null && { level }) }
  }
  if (type !== BOT_TYPES.embedded) return undefined
  const { name = '' } = input
  const program = embeddedBot(name)
  if (program === undefined) throw badRequest('Invalid embedded bot name.')
  return { kind: 'embedded', name, config: checkedConfig(name, program.config, input.config) }
}

export interface ServiceChange {
  url: string | undefined
  form: WebhookForm | undefined
  config: BotConfig | undefined
}

/**
 * Removes the address until the owner sets another one, and renews the token: others may know both. Undefined if the bot has no address.
 */
export function endedService(realm: Realm, { service }: Bot): BotService | undefined {
  if (service?.kind !== 'outgoing' || service.url === '') return undefined
  return { ...service, url: '', sealedToken: sealText(realm, randomKey(realm.random)) }
}

/** Undefined members stay unchanged. Throws `BAD_REQUEST` if the bot's type does not have the member. */
export function changedService(before: Bot, { url, form, config }: ServiceChange): BotService | undefined {
  let { service } = before
  if (url !== undefined || form !== undefined) {
    if (service?.kind !== 'outgoing') throw badRequest('Only bots of type 3 have an address')
    const next = url === undefined ? service.url : webhookUrl(url, 'service_payload_url')
    service = { ...service, url: next, form: form ?? service.form }
  }
  if (config !== undefined) {
    if (service?.kind !== 'embedded') throw badRequest('Only bots of type 4 have a configuration')
    service = { ...service, config: checkedConfig(service.name, service.config, config) }
  }
  return service
}

/** Checks the form only. Each outgoing request checks whether the address is allowed. */
function webhookUrl(input: string, parameter: string): string {
  const text = input.trim()
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw invalidParameter(parameter, `${parameter} is not a URL of http or https, without a user in it`)
  return text
}

function checkedConfig(name: string, before: BotConfig, input: BotConfig): BotConfig {
  for (const [key, value] of Object.entries(input)) {
    if (!Object.hasOwn(embeddedBot(name)?.config ?? {}, key)) throw badRequest(`Bots of ${name} have no '${key}'`)
    if (value.length > CONFIG_CHARACTERS_MAX) throw badRequest(`'${key}' is too long`)
  }
  return { ...before, ...input }
}

/** For users who manage the bot: contract section 2.5. */
export function servicesOf(realm: Realm, { service }: Bot) {
  switch (service?.kind) {
    case 'outgoing':
      return [{ base_url: service.url, token: openText(realm, service.sealedToken) ?? '', interface: service.form }]
    case 'embedded':
      return [{ service_name: service.name, config_data: service.config }]
    default:
      return []
  }
}
