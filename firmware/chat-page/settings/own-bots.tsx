/** Bots of the account, their keys, and new ones. */

import { BotList } from '../people/bots.tsx'
import type { SectionProps } from './settings.tsx'

export const OwnBotsSection = ({ realm }: SectionProps) => (
  <BotList
    realm={realm}
    bots={[...realm.people.values()].filter(({ bot_owner_id: owner }) => owner === realm.ownId)}
    mayAdd
  />
)
