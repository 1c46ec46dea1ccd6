/**
 * Joins the pipes of the firmware and another process, such as the chat, without reading their content: firmware/channel/segments.ts
 * marks whose it is.
 * Neither side can exhaust the boot manager's memory, since each waits until the other has read.
 */

import type { Duplex } from 'node:stream'
import { wipe } from '../../firmware/base/secret.ts'
import { FrameError } from '../../firmware/channel/frames.ts'
import { createSegmentReader, segmentHead, segmentsOf } from '../../firmware/channel/segments.ts'

export interface Relay {
  /** Pipe of a newly started firmware. The pipe of the other process follows. */
  joinFirmware(pipe: Duplex, onRefused: (why: string) => void): void
  joinOther(pipe: Duplex): void
}

/** `name` is that of the other process in refusals. */
export function createRelay(name: string): Relay {
  let firmware: Duplex | null = null
  let other: Duplex | null = null
  let life = 0

  const endOther = () => {
    if (other === null) return
    other.destroy()
    other = null
    firmware?.write(segmentHead(life, 0))
    firmware?.resume()
  }

  return {
    joinFirmware(pipe, onRefused) {
      endOther()
      firmware = pipe
      const read = createSegmentReader((to, bytes) => {
        if (other === null || to !== life || bytes.length === 0) return
        const piece = Buffer.from(bytes)
        const goesOn = other.write(piece, () => wipe(piece)) // may contain a key
        if (!goesOn) pipe.pause()
      })
      pipe.on('data', (chunk: Uint8Array) => {
        try {
          read(chunk)
        } catch (error) {
          if (!(error instanceof FrameError)) throw error
          pipe.destroy()
          onRefused(`sent the ${name} something that is not a message: ${error.message}`)
        } finally {
          wipe(chunk)
        }
      })
      pipe.on('error', () => {}) // 'close' follows
      pipe.on('close', () => {
        if (firmware !== pipe) return
        firmware = null
        endOther()
      })
    },
    joinOther(pipe) {
      endOther()
      pipe.on('error', () => {})
      if (firmware === null) return void pipe.destroy()
      const to = firmware
      const own = ++life
      other = pipe
      to.write(segmentHead(own, 0))
      pipe.on('data', (chunk: Uint8Array) => {
        let goesOn = true
        for (const bytes of segmentsOf(chunk)) {
          to.write(segmentHead(own, bytes.length))
          goesOn = to.write(bytes)
        }
        if (goesOn) return
        pipe.pause()
        to.once('drain', () => pipe.resume())
      })
      pipe.on('drain', () => to.resume())
      pipe.on('close', () => {
        if (life === own) endOther()
      })
    },
  }
}
