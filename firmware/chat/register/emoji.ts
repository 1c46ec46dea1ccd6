/** The block of the organisation's own emoji, deactivated ones included: old messages show them. Contract section 4.2. */

import { emojiObjects } from '../realm/model/emoji.ts'
import type { OpenRegisterSection } from './section.ts'

export const realmEmoji: OpenRegisterSection = ({ realm }) => ({ realm_emoji: emojiObjects(realm) })
