/** Flags of a message row, which narrows search by, and flags of a row in the table `mentions`. */

export const HAS_LINK = 1
export const HAS_IMAGE = 2
export const HAS_ATTACHMENT = 4
export const HAS_REACTION = 8
export const IS_ME = 16
export const IS_WIDGET = 32

/** Flags that follow from the content; the others are set by reactions and widgets. */
export const CONTENT_BITS = HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT | IS_ME

/** Flags of the table `mentions`. */
export const MENTIONED = 1
export const CHANNEL_WILDCARD = 2
export const TOPIC_WILDCARD = 4
export const ALERT_WORD = 8
