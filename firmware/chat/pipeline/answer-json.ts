/** Serializes answers and bounds their size while writing. Contract section 9. */

import { badRequest } from '../base/error.ts'
import { JsonText } from '../base/json-text.ts'

/** Bound of one answer. The largest is a register answer of an organization at all its limits: realm/model/record-bounds.ts. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/**
 * Throws `BAD_REQUEST` if the JSON exceeds `bytesMax`. Serializes member by member, so that it never exceeds the bound by much. `bytes` is
 * the length in UTF-8: each further pass over a long answer takes as long as a call.
 */
export function answerJson(
  answer: Readonly<Record<string, unknown>>,
  bytesMax = ANSWER_BYTES_MAX,
): { text: string; bytes: number } {
  const pieces: string[] = []
  let bytes = 0
  const write = (piece: string): void => {
    bytes += Buffer.byteLength(piece)
    if (bytes > bytesMax) throw tooLarge()
    pieces.push(piece)
  }
  writeObject(answer, write, (value) => writeMember(value, write))
  return { text: pieces.join(''), bytes }
}

/** Takes values while their JSON fits into `bytesMax`, but at least the first one. */
export function takeFitting(values: Iterable<unknown>, bytesMax: number): Fitting {
  const texts: string[] = []
  let bytes = 0
  for (const value of values) {
    const text = JSON.stringify(value)
    bytes += Buffer.byteLength(text) + 1
    if (bytes > bytesMax && texts.length > 0) return { texts, isComplete: false }
    texts.push(text)
  }
  return { texts, isComplete: true }
}

export interface Fitting {
  texts: string[]
  isComplete: boolean
}

export const tooLarge = () => badRequest('The answer would be too large: ask for less')

type Write = (piece: string) => void

function writeMember(value: unknown, write: Write): void {
  if (value instanceof JsonText) for (const piece of value.pieces) write(piece)
  else if (Array.isArray(value)) writeList(value, write)
  else if (isPlain(value)) writeObject(value, write, (member) => write(JSON.stringify(member)))
  else write(JSON.stringify(value))
}

function writeList(values: readonly unknown[], write: Write): void {
  write('[')
  for (const [index, value] of values.entries()) write(`${index === 0 ? '' : ','}${JSON.stringify(value) ?? 'null'}`)
  write(']')
}

/** Omits undefined members, as JSON.stringify does. */
function writeObject(
  members: Readonly<Record<string, unknown>>,
  write: Write,
  writeValue: (value: unknown) => void,
): void {
  let separator = '{'
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined || typeof value === 'function') continue
    write(`${separator}${JSON.stringify(name)}:`)
    writeValue(value)
    separator = ','
  }
  write(separator === '{' ? '{}' : '}')
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Object.getPrototypeOf(value) === Object.prototype &&
  !('toJSON' in value)
