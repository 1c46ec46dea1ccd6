/**
 * Stores the sealed commit counts of the chat in the device area. The chat process sends them every minute and at its end, when the
 * appliance may already be Locked. The appliance cannot read them.
 */

import * as z from 'zod'
import { decodeBase64, encodeBase64 } from '../../base/base64.ts'
import type { DeviceRecords } from '../../configuration/device-records.ts'
import { CHAT_COMMITS } from '../../store/device-area.ts'

/** Limits writes to the disk, even for a compromised process. Messages within the interval are stored at its end. */
const INTERVAL_MS = 1000

const schema = z.strictObject({ generation: z.string(), sealed: z.string() })
type Kept = z.infer<typeof schema>

export interface CommitCounterStore {
  /** Null if there are none for this generation. */
  of(generation: string): Uint8Array | null
  keep(generation: string, sealed: Uint8Array): void
  /** Discards counts that are not written yet. */
  forget(): void
  /** Writes pending counts at shutdown. */
  flush(): void
}

export function createCommitCounterStore(records: DeviceRecords): CommitCounterStore {
  let waiting: Kept | null = null
  let pause: NodeJS.Timeout | undefined

  function write(): void {
    pause = undefined
    if (waiting === null) return
    const bytes = new TextEncoder().encode(JSON.stringify(waiting))
    waiting = null
    pause = setTimeout(write, INTERVAL_MS).unref()
    records.keep('store the commit counts of the chat', (area) => area.put(CHAT_COMMITS, bytes))
  }

  return {
    of(generation) {
      if (waiting?.generation === generation) return bytesOf(waiting)
      const bytes = records.read('read the commit counts of the chat', (area) => area.get(CHAT_COMMITS))
      if (bytes == null) return null
      const kept = schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
      return kept.generation === generation ? bytesOf(kept) : null
    },
    keep(generation, sealed) {
      waiting = { generation, sealed: encodeBase64(sealed) }
      if (pause === undefined) write()
    },
    forget() {
      waiting = null
    },
    flush() {
      clearTimeout(pause)
      write()
    },
  }
}

const bytesOf = ({ sealed }: Kept): Uint8Array => decodeBase64(sealed, 'sealed')
