/**
 * Joins the firmware's pipe and the chat's end to end, and reads nothing of what passes: firmware/channel/segments.ts tells
 * whose it is. Neither side can fill us, since each waits until the other has read.
 */

import type { Duplex } from 'node:stream'
import { wipe } from '../../firmware/base/secret.ts'
import { FrameError } from '../../firmware/channel/frames.ts'
import { createSegmentReader, segmentHead, segmentsOf } from '../../firmware/channel/segments.ts'

export interface Relay {
  /** The end of a firmware that has just been started; the chat's follows. */
  joinFirmware(pipe: Duplex, onRefused: (why: string) => void): void
  /** The end of a chat that has just been started. */
  joinChat(pipe: Duplex): void
}

export function createRelay(): Relay {
  let firmware: Duplex | null = null
  let chat: Duplex | null = null
  let life = 0

  const endChat = () => {
    if (chat === null) return
    chat.destroy()
    chat = null
    firmware?.write(segmentHead(life, 0))
    firmware?.resume()
  }

  return {
    joinFirmware(pipe, onRefused) {
      endChat()
      firmware = pipe
      const read = createSegmentReader((to, bytes) => {
        if (chat === null || to !== life || bytes.length === 0) return
        const piece = Buffer.from(bytes)
        const goesOn = chat.write(piece, () => wipe(piece)) // it may be a key
        if (!goesOn) pipe.pause()
      })
      pipe.on('data', (chunk: Uint8Array) => {
        try {
          read(chunk)
        } catch (error) {
          if (!(error instanceof FrameError)) throw error
          pipe.destroy()
          onRefused(`sent the chat something that is not a message: ${error.message}`)
        } finally {
          wipe(chunk)
        }
      })
      pipe.on('error', () => {}) // 'close' follows
      pipe.on('close', () => {
        if (firmware !== pipe) return
        firmware = null
        endChat()
      })
    },
    joinChat(pipe) {
      endChat()
      pipe.on('error', () => {})
      if (firmware === null) return void pipe.destroy()
      const other = firmware
      const own = ++life
      chat = pipe
      other.write(segmentHead(own, 0))
      pipe.on('data', (chunk: Uint8Array) => {
        let goesOn = true
        for (const bytes of segmentsOf(chunk)) {
          other.write(segmentHead(own, bytes.length))
          goesOn = other.write(bytes)
        }
        if (goesOn) return
        pipe.pause()
        other.once('drain', () => pipe.resume())
      })
      pipe.on('drain', () => other.resume())
      pipe.on('close', () => {
        if (life === own) endChat()
      })
    },
  }
}
