/** What the service says that it is. Contract section 11.1. */
export const VERSION = {
  zulip_version: '12.2',
  zulip_merge_base: '12.2',
  zulip_feature_level: 500,
  /** Of the history, which goes no further. */
  service_feature_level: 460,
} as const

/** The release that levels of the history belong to. */
export const HISTORY_VERSION = '12.0'

/** Whether a client has declared a level before `level`; null: it has declared none. Contract section 8. */
export const isOlder = (declared: number | null, level: number): boolean => declared !== null && declared < level
