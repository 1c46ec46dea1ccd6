/** What the service says that it is. Contract section 11.1. */
export const VERSION = {
  zulip_version: '12.0',
  zulip_merge_base: '12.0',
  zulip_feature_level: 460,
  service_feature_level: 460,
} as const

/** Whether a client has declared a level before `level`; null: it has declared none. Contract section 8. */
export const isOlder = (declared: number | null, level: number): boolean => declared !== null && declared < level
