/** Splits output into lines that are safe to show on a terminal. */

import { StringDecoder } from 'node:string_decoder'
import { printable } from '../../firmware/base/printable.ts'

const LINE_CHARACTERS_MAX = 8192 // longer lines are split, so that a stream without line breaks cannot exhaust memory

/** Calls `take` with complete lines; lines that end in the same chunk come together. */
export function splitLines(take: (lines: string[]) => void): { write(bytes: Uint8Array): void; end(): void } {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const split = (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    const whole = lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
    for (; rest.length > LINE_CHARACTERS_MAX; rest = rest.slice(LINE_CHARACTERS_MAX)) {
      whole.push(rest.slice(0, LINE_CHARACTERS_MAX))
    }
    if (whole.length > 0) take(whole.map(printable))
  }
  return {
    write: (bytes) => split(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    end: () => {
      split(decoder.end())
      if (rest !== '') take([printable(rest)])
      rest = ''
    },
  }
}
