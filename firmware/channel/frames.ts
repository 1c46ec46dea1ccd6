/**
 * Messages of the channel as frames: the lengths of two parts (32 bits each, big endian), a JSON text, raw bytes. A byte
 * array in the message stands in the text as `{"bytes":[start,length]}` and lies in the raw part. Both lengths are
 * bounded, and nothing but JSON.parse reads a text: a sender of frames gets no further than that.
 */

import { wipe } from '../base/secret.ts'
import { SLOT_WRITE_BYTES_MAX } from './protocol.ts'

const HEAD_BYTES = 8
export const TEXT_BYTES_MAX = 64 * 1024 // settings, addresses and reasons take a few kilobytes
export const RAW_BYTES_MAX = SLOT_WRITE_BYTES_MAX + 64 * 1024 // a piece of an update, or a manifest and its signature

/** The bytes are no frame, or one that is too long. */
export class FrameError extends Error {}

/** A new buffer, to be wiped by the caller: what is in the message may be secret. Throws a FrameError. */
export function encodeFrame(message: object): Buffer {
  const pieces: Uint8Array[] = []
  let rawBytes = 0
  const text = JSON.stringify(message, (_, value: unknown) => {
    if (!(value instanceof Uint8Array)) return value
    pieces.push(value)
    rawBytes += value.length
    return { bytes: [rawBytes - value.length, value.length] }
  })
  const textBytes = Buffer.byteLength(text)
  checkLengths(textBytes, rawBytes)
  const frame = Buffer.alloc(HEAD_BYTES + textBytes + rawBytes)
  frame.writeUInt32BE(textBytes, 0)
  frame.writeUInt32BE(rawBytes, 4)
  frame.write(text, HEAD_BYTES)
  let offset = HEAD_BYTES + textBytes
  for (const piece of pieces) {
    frame.set(piece, offset)
    offset += piece.length
  }
  return frame
}

interface FrameReader {
  /** Takes what comes next, and wipes it. Returns the messages that are complete with it; throws a FrameError. */
  push(chunk: Uint8Array): unknown[]
}

export function createFrameReader(): FrameReader {
  const head = Buffer.alloc(HEAD_BYTES)
  let body: Buffer | null = null // while null, the head is read
  let filled = 0

  return {
    push(chunk) {
      const messages: unknown[] = []
      for (let at = 0; at < chunk.length; ) {
        const target = body ?? head
        const taken = chunk.subarray(at, at + target.length - filled)
        target.set(taken, filled)
        filled += taken.length
        at += taken.length
        if (filled < target.length) break
        filled = 0
        if (body === null) {
          const [textBytes, rawBytes] = [head.readUInt32BE(0), head.readUInt32BE(4)]
          checkLengths(textBytes, rawBytes)
          body = Buffer.alloc(textBytes + rawBytes)
        } else {
          messages.push(decode(body, head.readUInt32BE(0)))
          wipe(body)
          body = null
        }
      }
      wipe(chunk)
      return messages
    },
  }
}

function checkLengths(textBytes: number, rawBytes: number): void {
  if (textBytes === 0) throw new FrameError('it has no text')
  if (textBytes > TEXT_BYTES_MAX) throw new FrameError(`its text has more than ${TEXT_BYTES_MAX} bytes`)
  if (rawBytes > RAW_BYTES_MAX) throw new FrameError(`it has more than ${RAW_BYTES_MAX} raw bytes`)
}

/** Byte arrays of the message are copies, of no more bytes than came: no two share any. */
function decode(body: Buffer, textBytes: number): unknown {
  const raw = body.subarray(textBytes)
  let input = 0
  const revive = (_: string, value: unknown): unknown => {
    const place = rangeOf(value)
    if (place === null) return value
    const [start, length] = place
    input += length
    if (start + length > raw.length || input > raw.length) throw new FrameError('it names bytes that it does not have')
    return Uint8Array.from(raw.subarray(start, start + length))
  }
  let value: unknown
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body.subarray(0, textBytes))
    value = JSON.parse(text, revive)
  } catch (error) {
    if (error instanceof FrameError) throw error
    throw new FrameError('its text is not JSON in UTF-8') // or it is nested so deep that the stack ends
  }
  if (input < raw.length) throw new FrameError('it has bytes that it does not name')
  return value
}

function rangeOf(value: unknown): [start: number, length: number] | null {
  if (typeof value !== 'object' || value === null || !('bytes' in value) || !Array.isArray(value.bytes)) return null
  const { bytes } = value
  if (bytes.length !== 2 || !bytes.every(isCount)) throw new FrameError('it names no place of bytes')
  return bytes as [number, number]
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
