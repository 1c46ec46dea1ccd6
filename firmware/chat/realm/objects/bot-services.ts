/** What answers for a bot: an address outside (type 3), or a program of the chat's own (type 4). Contract section 3.5. */

import { badRequest, invalidParameter } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { Bot, BotService } from '../model/records.ts'
import { openText, sealText } from '../model/secrets.ts'
import { embeddedBot } from './embedded-bots.ts'
import { randomKey } from './keys.ts'

export const BOT_TYPES = { generic: 1, incomingWebhook: 2, outgoingWebhook: 3, embedded: 4 } as const
export type BotType = (typeof BOT_TYPES)[keyof typeof BOT_TYPES]

const URL_CHARACTERS_MAX = 2000
const CONFIG_CHARACTERS_MAX = 10_000 // of one value: what a message may have

export type WebhookForm = 1 | 2
type BotConfig = Readonly<Record<string, string>>

/** Of a bot that is made; what is of no use for its type means nothing. */
export interface GivenService {
  url: string
  form: WebhookForm
  name: string | undefined
  config: BotConfig
  /** Of the client that makes it. Contract section 8. */
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

/** Without its address, until its owner sets another one, and with a new token: others may know both. Undefined: it calls no address. */
export function endedService(realm: Realm, { service }: Bot): BotService | undefined {
  if (service?.kind !== 'outgoing' || service.url === '') return undefined
  return { ...service, url: '', sealedToken: sealText(realm, randomKey(realm.random)) }
}

/** The same as before where nothing is given. Throws `BAD_REQUEST` for what bots of that type have not. */
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

/** Whether it may be asked is decided each time it is. */
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

/** As those who manage the bot see it: contract section 2.5. */
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
