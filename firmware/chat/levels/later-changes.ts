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
  levelChange(491, request(['POST /register'], capability('individual_emoji_changes', false))),
  levelChange(
    481,
    removeParameters(['idle_queue_timeout'], 'POST /register'),
    removeFields(['idle_queue_timeout_secs'], register()),
  ),
  levelChange(470, removeEndpoints('POST /remove_client_device')),
  levelChange(
    468,
    removeFields(['devices'], register()),
    dropEvent('device'),
    removeEndpoints('POST /register_client_device'),
    removeParameters(['device_id'], 'POST /mobile_push/register', 'POST /mobile_push/e2ee/test_notification'),
  ),
  levelChange(466, removeFields(['realm_uuid'], register())),
]
