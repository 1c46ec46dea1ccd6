/** Bots of everybody. */

import { BotList } from '../people/bots.tsx'
import type { OrganizationProps } from './organization.tsx'

export const AllBotsSection = ({ realm }: OrganizationProps) => (
  <BotList
    realm={realm}
    bots={[...realm.people.values()].filter(({ is_bot: isBot, bot_owner_id: owner }) => isBot && owner != null)}
    mayAdd
  />
)
