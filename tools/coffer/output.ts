/** Results on stdout, for people or programs; everything else on stderr. */

import { writeSync } from 'node:fs'

export interface Output {
  /** Prints an answer of the API. `show` makes it readable, `bare` is what --quiet prints. */
  result(value: unknown, show?: () => string, bare?: () => string | string[]): void
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
  const widths = heads.map((_, column) => Math.max(...lines.map((cells) => (cells[column] ?? '').length)))
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** `name  value`, a line each; members of members as `name.member  value`. */
export function members(value: unknown): string {
  if (typeof value !== 'object' || value === null) return plain(String(value))
  const rows = rowsOf(value, '')
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`.trimEnd()).join('\n')
}

function rowsOf(value: object, prefix: string): [name: string, text: string][] {
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    const path = plain(prefix + name)
    if (!isNested(member)) return [[path, plain(Array.isArray(member) ? member.join(', ') : String(member))]]
    const rows = rowsOf(member, `${prefix}${name}.`)
    return rows.length === 0 ? [[path, '']] : rows
  })
}

const isNested = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (!Array.isArray(value) || value.some((item) => typeof item === 'object' && item !== null))

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
