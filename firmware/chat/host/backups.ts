/** Moves the chat's databases into a backup and back: sealed, in chunks. */

import * as z from 'zod'
import type { Appliance } from '../../appliance/appliance.ts'
import type { ChatBackups, ChatCopy, ChatPiece } from '../../backup/chat.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../crypto/random.ts'
import { makeTlsIdentity } from '../../crypto/tls/identity.ts'
import { CHAT, CHAT_TLS_IDENTITY } from '../../store/device-area.ts'
import { COPY_BYTES_MAX } from '../link/link.ts'
import type { Changes } from './changes.ts'
import { type ChatConnection, expectShape } from './chat-connection.ts'
import { type KeptOrganization, newGeneration } from './organization.ts'
import type { ChatProcess } from './process.ts'
import { encodeRecord } from './record.ts'

const FILES_MAX = 16

const copiedSchema = z.array(z.object({ name: z.string(), bytes: z.number() })).max(FILES_MAX)
const pieceSchema = z.instanceof(Uint8Array).refine(({ length }) => length > 0)

interface HostBackupsOptions {
  process: ChatProcess
  organization: KeptOrganization
  changes: Changes
  tls: Appliance['configuration']['chatTls']
  random: Random
  log: Log
  expectRunning: () => ChatConnection
  /** Called when a backup without a chat has replaced the records. */
  onReplaced: () => void
}

export function createHostBackups(options: HostBackupsOptions): ChatBackups {
  const { process, organization, changes, tls, random, log, expectRunning, onReplaced } = options
  let endReceiving: ReturnType<Changes['begin']> | undefined

  return {
    get exists() {
      return organization.record?.stage === 'present'
    },
    async copy() {
      if (process.isOpen || process.problem === null) return copyOf(expectRunning())
      log.warning('general', 'the backup omits the chat: the chat has failed')
      return null
    },
    async receive(pieces) {
      endReceiving = changes.begin() // otherwise a process that opens the current generation would erase the incoming one
      process.retry()
      if (tls.identityIfAny === undefined) tls.reload()
      if (tls.identityIfAny === undefined) tls.use(await makeTlsIdentity(random, undefined, tls.names))
      process.want('running')
      const generation = newGeneration(random)
      await hand(await process.listening(), generation, pieces)
      return generation
    },
    replace: (device, received, keyStays) => {
      const { record } = organization
      if (received !== null) {
        device.put(CHAT, encodeRecord({ generation: received, stage: 'present' }))
        if (!device.has(CHAT_TLS_IDENTITY)) device.putTlsIdentity(tls.identity, CHAT_TLS_IDENTITY)
      } else if (record !== null && !keyStays) device.put(CHAT, encodeRecord({ ...record, stage: 'erasing' }))
    },
    settled(isReplaced) {
      const end = endReceiving
      endReceiving = undefined
      if (isReplaced) tls.reload()
      if (end !== undefined) end(isReplaced)
      else if (isReplaced) onReplaced()
    },
  }
}

export async function copyOf(connection: ChatConnection): Promise<ChatCopy> {
  const files = expectShape(copiedSchema, await connection.ask({ do: 'beginCopy' }))
  let isOver = false
  return {
    async *pieces() {
      for (const { name, bytes } of files)
        for (let offset = 0; offset < bytes; ) {
          const asked = Math.min(COPY_BYTES_MAX, bytes - offset)
          const answer = await connection.ask({ do: 'readCopy', name, offset, bytes: asked })
          const piece = expectShape(pieceSchema, answer)
          yield { file: name, offset, bytes: piece }
          offset += piece.length
        }
    },
    end: () => {
      if (!isOver) connection.ask({ do: 'endCopy' }).catch(() => {}) // on failure the connection has ended, and the copy with it
      isOver = true
    },
  }
}

/** Sends a generation to the chat process. Durable when it resolves. */
async function hand(connection: ChatConnection, generation: string, pieces: Iterable<ChatPiece>): Promise<void> {
  await connection.ask({ do: 'receive', generation })
  for (const { file, bytes } of pieces)
    for (let at = 0; at < bytes.length; at += COPY_BYTES_MAX)
      await connection.ask({ do: 'write', name: file, bytes: bytes.subarray(at, at + COPY_BYTES_MAX) })
  await connection.ask({ do: 'received' })
}
