/**
 * Deletes messages older than the retention period of the organization or their channel, in batches, so that requests are served in
 * between. The current setting applies. Clients receive deletion events: contract sections 2.3, 2.6 and 4.4 (V9), levels 452 and 457. Files
 * that only these messages linked are deleted too, except those of texts that their owner has not sent yet.
 */

import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { createBatchSize, threadMs } from '../../../base/batch-size.ts'
import type { Log } from '../../../base/log.ts'
import { type PeriodicTask, startPeriodic } from '../../../base/periodic.ts'
import type { MessageRow, PlacedRow } from '../../store/messages.ts'
import type { UploadRow } from '../../store/uploads.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { organizationOf } from '../model/state.ts'
import { isLinked } from '../objects/upload-claims.ts'
import { isDeactivated } from '../objects/users.ts'
import { removeMessages } from './delete.ts'
import { dropUpload, removeFile } from './upload-receive.ts'

const INTERVAL_MS = 600_000 // retention periods are in days
const DAY_S = 86_400
const FOREVER = -1

const MESSAGES_FIRST = 10 // per transaction
const MESSAGES_MAX = 200
const TURN_MS = 10
const PAUSE_MS = 10 // between two batches
const RECIPIENTS_A_TURN = 200

/** `stop` lets the current batch finish. */
export const startRetention = (realm: Realm, log: Log): PeriodicTask =>
  startPeriodic({
    run: (isOpen) => expireOld(realm, isOpen),
    intervalMs: INTERVAL_MS,
    failure: 'cannot delete expired messages',
    source: 'chat',
    log,
  })

async function expireOld(realm: Realm, isOpen: () => boolean): Promise<void> {
  let looked = 0
  const size = createBatchSize({ start: MESSAGES_FIRST, max: MESSAGES_MAX, targetMs: TURN_MS })
  for (const recipient of recipientsOf(realm)) {
    for (let after = 0; ; ) {
      if (!isOpen() || isDeactivated(realm)) return
      const beganMs = threadMs()
      const step = expireSome(realm, recipient, after, size.value)
      if (!step.isDone) size.took(threadMs() - beganMs)
      for (const { id } of step.dropped) await removeFile(realm, id)
      if (step.isDone) break
      after = step.after
      await wait(PAUSE_MS, undefined, { ref: false })
    }
    if (++looked % RECIPIENTS_A_TURN === 0) await setImmediate()
  }
}

/** Read once per run: conversations created meanwhile have no old messages. */
function recipientsOf({ state }: Realm): number[] {
  if (state.organization.size === 0) return []
  const channels = [...state.channel.all()].map(({ recipientId }) => recipientId)
  return [...channels, ...[...state.conversation.all()].map(({ recipientId }) => recipientId)]
}

/** Null: unlimited. Direct messages, and channels without a period of their own, use the organization's. */
function daysOf({ state }: Realm, recipient: number): number | null {
  const own = state.channelByRecipient.get(recipient)?.messageRetentionDays ?? null
  const days = own ?? realmSetting(organizationOf(state), 'message_retention_days')
  return days === FOREVER ? null : days
}

interface Step {
  isDone: boolean
  after: number
  /** Files whose bytes the caller must delete. */
  dropped: readonly UploadRow[]
}

const DONE: Step = { isDone: true, after: 0, dropped: [] }

/**
 * Deletes the oldest messages up to the first one that is recent enough. Messages dated in the future come from a wrong clock: they stay,
 * but do not protect older messages after them.
 */
function expireSome(realm: Realm, recipient: number, after: number, count: number): Step {
  const days = daysOf(realm, recipient)
  if (days === null) return DONE
  const now = nowOf(realm)
  const rows = realm.store.messages.oldestAfter(recipient, after, count)
  const isOver = ({ time }: Pick<MessageRow, 'time'>) => time < now - days * DAY_S
  const first = rows.findIndex((row) => !isOver(row) && row.time <= now)
  const old = (first === -1 ? rows : rows.slice(0, first)).filter(isOver)
  const dropped = old.length === 0 ? [] : remove(realm, old)
  const isDone = first !== -1 || rows.length < count
  return { isDone, after: rows.at(-1)?.id ?? after, dropped }
}

function remove(realm: Realm, rows: readonly PlacedRow[]): UploadRow[] {
  const { uploads } = realm.store
  return realm.transaction((turn) => {
    const shown = new Map(rows.flatMap(({ id }) => uploads.ofMessage(id)).map((upload) => [upload.id, upload]))
    for (const together of Map.groupBy(rows, ({ topic }) => topic).values())
      removeMessages(realm, turn, together, 'retention')
    const dropped = [...shown.values()].filter((upload) => !isLinked(realm, upload))
    for (const upload of dropped) dropUpload(realm, turn, upload)
    return dropped
  })
}
