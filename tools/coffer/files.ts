/** Files in and out: whole ones or none, and progress while it takes. */

import { createReadStream, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Upload } from '../../firmware/client/request.ts'
import { EXIT, Failure } from './failure.ts'

/** A file, or stdin for `-`. */
export const readInput = (file: string): Buffer => readFileSync(file === '-' ? 0 : file)

/** Under the name only once all of it is there and on disk. Nobody else may read it. Into a pipe or a device as it comes. */
export async function writeWhole(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const { open, rename, rm, writeFile } = await import('node:fs/promises')
  const isFile = statSync(file, { throwIfNoEntry: false })?.isFile() ?? true
  if (!isFile) return writeFile(file, pieces, { signal })
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.part`)
  const handle = await open(draft, 'wx', 0o600)
  try {
    try {
      for await (const piece of pieces) {
        signal.throwIfAborted()
        await handle.writeFile(piece) // `write` may write a part of it, as on a full disk
      }
      await handle.sync()
    } finally {
      await handle.close()
    }
    signal.throwIfAborted()
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

export function uploadOf(file: string, sent: (bytes: number) => void): Upload {
  const status = statSync(file)
  if (!status.isFile()) throw new Failure(EXIT.refused, `not a file: ${file}`)
  return {
    bytes: status.size,
    async *open() {
      let total = 0
      for await (const piece of createReadStream(file)) {
        yield piece as Uint8Array
        total += (piece as Uint8Array).length
        sent(total)
      }
    },
  }
}

const LINE_MS = 10_000
const BAR_MS = 100
const BAR_CHARACTERS = 24

/** On a terminal a bar that moves, elsewhere a line every ten seconds. */
export function createProgress(file: string, total?: number) {
  const what = basename(file)
  const started = Date.now()
  const isTerminal = process.stderr.isTTY === true
  let last = started
  let shown = 0
  const line = (bytes: number) => {
    const rate = bytes / Math.max(0.001, (Date.now() - started) / 1000)
    const part = total ? Math.min(1, bytes / total) : null
    const bar =
      part === null
        ? ''
        : `[${'#'.repeat(Math.round(part * BAR_CHARACTERS)).padEnd(BAR_CHARACTERS)}] ${Math.floor(part * 100)} %, `
    return `${what}: ${bar}${size(bytes)}, ${size(rate)}/s`
  }
  return {
    at(bytes: number) {
      shown = bytes
      const now = Date.now()
      if (now - last < (isTerminal ? BAR_MS : LINE_MS)) return
      last = now
      process.stderr.write(isTerminal ? `\r\u001b[K${line(bytes)}` : `${line(bytes)}\n`)
    },
    end() {
      if (isTerminal) process.stderr.write(`\r\u001b[K${line(shown)}\n`)
    },
  }
}

export function size(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`
}

export async function* counted(body: ReadableStream<Uint8Array>, seen: (bytes: number) => void) {
  let total = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    total += value.length
    seen(total)
    yield value
  }
}
