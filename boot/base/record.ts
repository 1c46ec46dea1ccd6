/** A small JSON record on disk. After a power cut it contains the complete old or the complete new value. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { ZodType } from 'zod'
import { writeDurably } from './files.ts'

export interface Record<Value> {
  readonly value: Value
  /** Throws an error of the file system and retains the previous value. */
  save(next: Value): void
  /** Continues if the disk is full: the value changes in memory only, and the next boot manager reads the previous one. */
  saveIfPossible(next: Value): void
}

interface RecordOptions<Value> {
  path: string
  schema: ZodType<Value>
  initial: Value
  /** Value if the file cannot be read. */
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
        if ((error as NodeJS.ErrnoException).code === undefined) throw error // not an error of the file system
        value = next
      }
    },
  }
}
