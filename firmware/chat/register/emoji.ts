/** Register section of custom emoji. Deactivated ones are included, because old messages show them. Contract section 4.2. */

import { emojiObjects } from '../realm/model/emoji.ts'
import type { OpenRegisterSection } from './section.ts'

export const realmEmoji: OpenRegisterSection = ({ realm }) => ({ realm_emoji: emojiObjects(realm) })
