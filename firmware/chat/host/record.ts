/** The chat's record in the device area: its current generation, and the stage of its creation or erasure. */

import * as z from 'zod'
import type { DeviceRecords } from '../../configuration/device-records.ts'
import { CHAT, CHAT_COMMITS, CHAT_HOSTS, CHAT_PORT, CHAT_TLS_IDENTITY, CHAT_WEB_PUSH } from '../../store/device-area.ts'

/** After a power failure, generations in the stages `making` and `erasing` are erased. */
const schema = z.strictObject({
  generation: z.string(),
  stage: z.enum(['making', 'present', 'erasing']),
})
export type ChatRecord = z.infer<typeof schema>

export function readRecord(records: DeviceRecords): ChatRecord | null {
  const bytes = records.read('read the record of the chat', (area) => area.get(CHAT))
  if (bytes == null) return null
  const { data } = schema.safeParse(JSON.parse(new TextDecoder().decode(bytes)))
  return data ?? null
}

/** Null removes all records of the chat. Throws `unavailable` unless Operational. */
export function writeRecord(records: DeviceRecords, record: ChatRecord | null): void {
  records.write((area) => {
    if (record !== null) area.put(CHAT, encodeRecord(record))
    else
      for (const name of [CHAT, CHAT_COMMITS, CHAT_HOSTS, CHAT_PORT, CHAT_TLS_IDENTITY, CHAT_WEB_PUSH])
        area.remove(name)
  })
}

export const encodeRecord = (record: ChatRecord): Uint8Array => new TextEncoder().encode(JSON.stringify(record))
