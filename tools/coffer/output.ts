/** Results on stdout, for people or programs; everything else on stderr. */

import { writeSync } from 'node:fs'

export interface Output {
  /** What the API sent. `show` makes it readable, `bare` is what --quiet prints. */
  result(value: unknown, show?: () => string, bare?: () => string | string[]): void
  /** Bytes of a result, as they are. */
  raw(bytes: Uint8Array): void
  note(text: string): void
}

export function createOutput({ json, quiet }: { json: boolean; quiet: boolean }): Output {
  return {
    result(value, show, bare) {
      if (json) return print(JSON.stringify(value, null, 2))
      if (quiet && bare) return print([bare()].flat().join('\n'))
      print(show ? show() : typeof value === 'string' ? value : members(value))
    },
    raw: (bytes) => writeAll(1, bytes),
    note: (text) => writeAll(2, Buffer.from(`${text}\n`)),
  }
}

/** Columns as wide as they need to be; control characters are shown as spaces. */
export function table(heads: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = [heads, ...rows].map((cells) => cells.map((cell) => plain(String(cell ?? ''))))
  const widths = heads.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)))
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `name  value`, a line each. */
export function members(value: unknown): string {
  if (typeof value !== 'object' || value === null) return plain(String(value))
  const entries = Object.entries(value)
  const width = Math.max(0, ...entries.map(([name]) => name.length))
  return entries.map(([name, member]) => `${name.padEnd(width)}  ${plain(text(member))}`).join('\n')
}

const text = (value: unknown): string =>
  Array.isArray(value) && value.every((item) => typeof item !== 'object')
    ? value.join(', ')
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

/** One line: controls and format characters, which a terminal would act on, are shown as spaces. */
export const plain = (line: string): string => line.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')

function print(line: string): void {
  if (line !== '') writeAll(1, Buffer.from(line.endsWith('\n') ? line : `${line}\n`))
}

/** Also into a pipe that is full for a moment. */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EPIPE') process.exit(0) // nobody reads on: head(1)
      if (code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
