/** Versions that the service reports. Contract section 11.1. */
export const VERSION = {
  zulip_version: '12.2',
  zulip_merge_base: '12.2',
  zulip_feature_level: 500,
  /** The last feature level with a history of changes. */
  service_feature_level: 460,
} as const

/** The release to which the levels of that history belong. */
export const HISTORY_VERSION = '12.0'

/** True if the client declared a level before `level`; null stands for no declaration. Contract section 8. */
export const isOlder = (declared: number | null, level: number): boolean => declared !== null && declared < level
