/** What a message has, as bits of its row, so that a narrow can ask for it; and how somebody is mentioned. */

export const HAS_LINK = 1
export const HAS_IMAGE = 2
export const HAS_ATTACHMENT = 4
export const HAS_REACTION = 8
export const IS_ME = 16
export const IS_WIDGET = 32

/** Those that follow from what is written. */
export const CONTENT_BITS = HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT | IS_ME

/** Of the table `mentions`. */
export const MENTIONED = 1
export const CHANNEL_WILDCARD = 2
export const TOPIC_WILDCARD = 4
export const ALERT_WORD = 8
