/** A small JSON record on disk that survives a power cut: always the old one or the new one, whole. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ZodType } from 'zod'
import { writeDurably } from './files.ts'

export interface Record<Value> {
  readonly value: Value
  /** Throws an error of the file system; the value is then the one before. */
  save(next: Value): void
  /** For what must go on when the disk is full: the next boot manager then finds the record as it was before. */
  saveIfPossible(next: Value): void
}

interface RecordOptions<Value> {
  path: string
  schema: ZodType<Value>
  /** When there is none yet. */
  initial: Value
  /** When it cannot be read. */
  damaged: Value
}

export function openRecord<Value>({ path, schema, initial, damaged }: RecordOptions<Value>): Record<Value> {
  let value = existsSync(path) ? read() : initial

  function read(): Value {
    try {
      return schema.parse(JSON.parse(readFileSync(path, 'utf8')))
    } catch {
      return damaged
    }
  }

  function save(next: Value): void {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeDurably(path, new TextEncoder().encode(`${JSON.stringify(next, null, 2)}\n`))
    value = next
  }

  return {
    get value() {
      return value
    },
    save,
    saveIfPossible: (next) => {
      try {
        save(next)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === undefined) throw error // no error of the disk
        value = next
      }
    },
  }
}
