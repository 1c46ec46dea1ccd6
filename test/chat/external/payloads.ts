/** Recorded payloads of the services, made for these tests: `<integration>/<event>[.<case>].json`, the messages beside them in `.md`. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Integration, WebhookOptions, WebhookResult } from '../../../firmware/chat/external/integration.ts'
import { INTEGRATIONS } from '../../../firmware/chat/external/integrations.ts'
import { contentOf, silenced, topicOf } from '../../../firmware/chat/external/text.ts'

const DIRECTORY = join(import.meta.dirname, 'payloads')

export const DEFAULTS: WebhookOptions = { name: 'instance', desc: 'alertname', branches: undefined }

export interface Recorded {
  readonly integration: Integration
  readonly name: string
  /** Value of the event header, "" where the service has none. */
  readonly event: string
  readonly payload: unknown
  readonly text: string
  readonly textFile: string
}

export const integrationOf = (name: string): Integration => INTEGRATIONS.find((one) => one.name === name)!

/** GitLab's events are words in capitals. */
function eventOf(integration: Integration, name: string): string {
  if (integration.eventHeader === undefined) return ''
  const event = name.split('.')[0]!
  return integration.name === 'gitlab'
    ? event
        .split('-')
        .map((word) => word[0]!.toUpperCase() + word.slice(1))
        .join(' ')
    : event
}

export const RECORDED: readonly Recorded[] = readdirSync(DIRECTORY).flatMap((folder) =>
  readdirSync(join(DIRECTORY, folder))
    .filter((file) => file.endsWith('.json'))
    .map((file) => {
      const name = file.slice(0, -'.json'.length)
      const integration = integrationOf(folder)
      const textFile = join(DIRECTORY, folder, `${name}.md`)
      return {
        integration,
        name,
        event: eventOf(integration, name),
        payload: JSON.parse(readFileSync(join(DIRECTORY, folder, file), 'utf8')) as unknown,
        get text() {
          return readFileSync(textFile, 'utf8')
        },
        textFile,
      }
    }),
)

/** The messages as a page: a heading for each topic; one line for an event that is no news. */
export function pageOf(integration: Integration, result: WebhookResult): string {
  if (result.messages.length === 0) return '(nothing is sent)\n'
  const shown = (text: string) => (integration.mentions === 'silent' ? silenced(text) : text)
  return result.messages
    .map(({ topic, text }) => `# ${topicOf(topic ?? '') || '(no topic)'}\n\n${shown(contentOf(text))}\n`)
    .join('\n')
}

export function read(recorded: Recorded, options: Partial<WebhookOptions> = {}): WebhookResult {
  const { integration, event, payload } = recorded
  return integration.read({ payload, event, options: { ...DEFAULTS, ...options } })
}
