/** Bounds the alerts of one call: a storm becomes few messages, which state how many alerts they omit. Contract section 3.5.2. */

import type { WebhookMessage } from './integration.ts'

const MESSAGES_MAX = 10
const ALERTS_OF_MESSAGE_MAX = 50

interface AlertGroup {
  readonly topic: string
  /** One or more lines for each alert. */
  readonly alerts: readonly string[]
}

export function messagesOf(groups: readonly AlertGroup[]): WebhookMessage[] {
  const left = count(groups.slice(MESSAGES_MAX))
  return groups.slice(0, MESSAGES_MAX).map(({ topic, alerts }, index) => {
    const shown = alerts.slice(0, ALERTS_OF_MESSAGE_MAX)
    const own = alerts.length - shown.length
    const others = index === MESSAGES_MAX - 1 ? left : 0
    const more = [
      ...(own > 0 ? [`${own} more of these alerts are not shown.`] : []),
      ...(others > 0 ? [`${others} alerts of other topics are not shown.`] : []),
    ]
    return { topic, text: [...shown, ...more].join('\n\n') }
  })
}

const count = (groups: readonly AlertGroup[]): number => groups.reduce((sum, { alerts }) => sum + alerts.length, 0)

/** Groups appear in the order of their first items. */
export function grouped<T>(items: readonly T[], nameOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const name = nameOf(item)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [item])
    else group.push(item)
  }
  return [...groups]
}
