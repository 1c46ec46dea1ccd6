/**
 * Joins the pipes of the firmware and the chat without reading their content: firmware/channel/segments.ts marks whose it is.
 * Neither side can exhaust the boot manager's memory, since each waits until the other has read.
 */

import type { Duplex } from 'node:stream'
import { wipe } from '../../firmware/base/secret.ts'
import { FrameError } from '../../firmware/channel/frames.ts'
import { createSegmentReader, segmentHead, segmentsOf } from '../../firmware/channel/segments.ts'

export interface Relay {
  /** Pipe of a newly started firmware. The pipe of its chat follows. */
  joinFirmware(pipe: Duplex, onRefused: (why: string) => void): void
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
        const goesOn = chat.write(piece, () => wipe(piece)) // may contain a key
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
