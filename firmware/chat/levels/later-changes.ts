/** Levels after those of the history: what 461 and above have changed, newest first. Contract section 8.3. */

import { capability } from './conversions.ts'
import {
  dropEvent,
  type LevelChange,
  levelChange,
  removeEndpoints,
  removeFields,
  removeParameters,
  request,
} from './rules.ts'
import { register } from './surfaces.ts'

export const LATER_CHANGES: readonly LevelChange[] = [
  levelChange(493, removeFields(['has_webex_token'], register())),
  levelChange(491, request(['E6'], capability('individual_emoji_changes', false))),
  levelChange(
    481,
    removeParameters(['idle_queue_timeout'], 'E6'),
    removeFields(['idle_queue_timeout_secs'], register()),
  ),
  levelChange(470, removeEndpoints('E146')),
  levelChange(
    468,
    removeFields(['devices'], register()),
    dropEvent('device'),
    removeEndpoints('E145'),
    removeParameters(['device_id'], 'E134', 'E136'),
  ),
  levelChange(466, removeFields(['realm_uuid'], register())),
]
