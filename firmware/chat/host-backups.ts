/** The chat's databases out of its process into a backup, and back: as they lie, sealed, in pieces. Design 14. */

import * as z from 'zod'
import type { ChatCopy, ChatPiece } from '../backup/chat.ts'
import { expectShape, type Life } from './asking.ts'
import { COPY_BYTES_MAX } from './link.ts'

const FILES_MAX = 16

const copiedSchema = z.array(z.object({ name: z.string(), bytes: z.number() })).max(FILES_MAX)
const pieceSchema = z.instanceof(Uint8Array).refine(({ length }) => length > 0)

/** The files as of now. */
export async function copyOf(life: Life): Promise<ChatCopy> {
  const files = expectShape(copiedSchema, await life.ask({ do: 'beginCopy' }))
  let isOver = false
  return {
    async *pieces() {
      for (const { name, bytes } of files)
        for (let offset = 0; offset < bytes; ) {
          const asked = Math.min(COPY_BYTES_MAX, bytes - offset)
          const answer = await life.ask({ do: 'readCopy', name, offset, bytes: asked })
          const piece = expectShape(pieceSchema, answer)
          yield { file: name, offset, bytes: piece }
          offset += piece.length
        }
    },
    end: () => {
      if (!isOver) life.ask({ do: 'endCopy' }).catch(() => {}) // it has ended, and with it the copy
      isOver = true
    },
  }
}

/** All of it is on the disk when it resolves. */
export async function hand(life: Life, generation: string, pieces: Iterable<ChatPiece>): Promise<void> {
  await life.ask({ do: 'receive', generation })
  for (const { file, bytes } of pieces)
    for (let at = 0; at < bytes.length; at += COPY_BYTES_MAX)
      await life.ask({ do: 'write', name: file, bytes: bytes.subarray(at, at + COPY_BYTES_MAX) })
  await life.ask({ do: 'received' })
}
