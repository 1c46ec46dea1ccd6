/** The parts of a registration that determine how events look to a client. Contract section 4.1. */

export const CAPABILITIES = [
  'notification_settings_null',
  'bulk_message_deletion',
  'user_avatar_url_field_optional',
  'stream_typing_notifications',
  'user_settings_object',
  'linkifier_url_template',
  'user_list_incomplete',
  'include_deactivated_groups',
  'archived_channels',
  'empty_topic_name',
  'simplified_presence_events',
  'individual_emoji_changes',
] as const
export type Capability = (typeof CAPABILITIES)[number]

export interface Shape {
  readonly applyMarkdown: boolean
  readonly clientGravatar: boolean
  readonly slimPresence: boolean
  /** Older feature level for which the client was written; null for the current one. Contract section 8. */
  readonly level: number | null
  readonly can: Readonly<Record<Capability, boolean>>
}

/** Equal shapes are the same object, so that an event is rendered once for all clients of a shape. */
const shapes = new Map<string, WeakRef<Shape>>()
const SHAPES_KNOWN_MAX = 1000 // includes unused ones, which are removed at this size

export function internShape({ applyMarkdown, clientGravatar, slimPresence, level, can }: Shape): Shape {
  const flags = [applyMarkdown, clientGravatar, slimPresence, ...CAPABILITIES.map((name) => can[name])]
  const key = `${level} ${flags.map(Number).join('')}`
  const known = shapes.get(key)?.deref()
  if (known !== undefined) return known
  const capabilities = Object.fromEntries(CAPABILITIES.map((name) => [name, can[name]])) as Record<Capability, boolean>
  const shape: Shape = { applyMarkdown, clientGravatar, slimPresence, level, can: capabilities }
  if (shapes.size >= SHAPES_KNOWN_MAX)
    for (const [key, known] of shapes) if (known.deref() === undefined) shapes.delete(key)
  shapes.set(key, new WeakRef(shape))
  return shape
}
