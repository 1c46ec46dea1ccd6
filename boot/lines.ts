/** Cuts a stream of output into lines that are safe to show on a terminal. */

import { StringDecoder } from 'node:string_decoder'

const LINE_CHARACTERS_MAX = 8192 // longer ones are cut, so that a stream without line breaks cannot fill the memory

/** Without control characters, which could move the cursor or change the terminal. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, '·')

/** Feeds `line` with what it is given, line by line. */
export function splitLines(line: (text: string) => void): { write(bytes: Uint8Array): void; end(): void } {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  const emit = (text: string) => line(printable(text))
  const take = (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const whole of lines) emit(whole.endsWith('\r') ? whole.slice(0, -1) : whole)
    while (rest.length > LINE_CHARACTERS_MAX) {
      emit(rest.slice(0, LINE_CHARACTERS_MAX))
      rest = rest.slice(LINE_CHARACTERS_MAX)
    }
  }
  return {
    write: (bytes) => take(decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))),
    end: () => {
      take(decoder.end())
      if (rest !== '') emit(rest)
      rest = ''
    },
  }
}
