/** What the device area says of the chat: which generation of its directory counts, and how far its making or erasing has come. */

import * as z from 'zod'
import type { DeviceRecords } from '../../configuration/device-records.ts'
import { CHAT, CHAT_COMMITS, CHAT_TLS_IDENTITY } from '../../store/device-area.ts'

/** One that was being made or erased when the power went is erased. */
const schema = z.strictObject({
  generation: z.string(),
  stage: z.enum(['making', 'present', 'erasing']),
})
export type ChatRecord = z.infer<typeof schema>

export function readRecord(records: DeviceRecords): ChatRecord | null {
  const bytes = records.read('reading what is known of the chat', (area) => area.get(CHAT))
  if (bytes == null) return null
  const { data } = schema.safeParse(JSON.parse(new TextDecoder().decode(bytes)))
  return data ?? null
}

/** Null leaves nothing of it. Throws `unavailable` unless Operational. */
export function writeRecord(records: DeviceRecords, record: ChatRecord | null): void {
  records.write((area) => {
    if (record !== null) area.put(CHAT, encodeRecord(record))
    else for (const name of [CHAT, CHAT_COMMITS, CHAT_TLS_IDENTITY]) area.remove(name)
  })
}

export const encodeRecord = (record: ChatRecord): Uint8Array => new TextEncoder().encode(JSON.stringify(record))
