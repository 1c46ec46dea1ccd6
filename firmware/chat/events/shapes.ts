/** How one kind of client sees events: the part of a registration that changes them. Contract section 4.1. */

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
  /** The older level that the client was written for; null: the one of now. Contract section 8. */
  readonly level: number | null
  /** What the client said that it can take. */
  readonly can: Readonly<Record<Capability, boolean>>
}

/** Most registrations are of a few shapes: equal ones are the same object, so that events are made once for each. */
const shapes = new Map<string, WeakRef<Shape>>()
const SHAPES_KNOWN_MAX = 1000 // with those that nobody has any more, which are forgotten then

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
