/** The firmware's end of the pipe to another process, such as the chat: each run of that process has a stream of its own. */

import { Duplex } from 'node:stream'
import { wipe } from '../base/secret.ts'
import { createSegmentReader, segmentHead, segmentsOf } from './segments.ts'

/** `onLife` is given each one when it begins; it ends when the process does. */
export function acceptConnections(pipe: Duplex, onLife: (stream: Duplex) => void): void {
  let current: { life: number; stream: Duplex } | null = null

  const end = () => {
    current?.stream.push(null)
    current?.stream.destroy()
    current = null
  }
  const read = createSegmentReader((life, bytes) => {
    if (bytes.length === 0) {
      const isNew = current?.life !== life
      end()
      if (!isNew) return
      current = { life, stream: streamOf(pipe, life) }
      onLife(current.stream)
    } else if (current?.life === life && !current.stream.destroyed) {
      if (!current.stream.push(Uint8Array.from(bytes))) pipe.pause()
    }
  })
  pipe.on('data', (chunk: Uint8Array) => {
    read(chunk)
    wipe(chunk)
  })
  pipe.on('error', () => {}) // 'close' follows
  pipe.on('close', end)
}

function streamOf(pipe: Duplex, life: number): Duplex {
  return new Duplex({
    read: () => void pipe.resume(),
    write: (chunk: Uint8Array, _, written) => {
      const segments = [...segmentsOf(chunk)]
      segments.forEach((bytes, index) => {
        pipe.write(segmentHead(life, bytes.length))
        pipe.write(bytes, index === segments.length - 1 ? (error) => written(error ?? null) : undefined)
      })
      if (segments.length === 0) written()
    },
    destroy: (error, destroyed) => {
      pipe.resume() // whatever is still coming for it is passed over
      destroyed(error)
    },
  })
}
