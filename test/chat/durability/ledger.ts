/** Compares the messages of a killed sender with the chat that is opened afterwards. */

import assert from 'node:assert/strict'
import type { Realm } from '../../../firmware/chat/realm/model/realm.ts'
import type { Flag } from '../../../firmware/chat/store/flags.ts'
import { fileIn } from './consistency.ts'

/** A request without an answer may have taken effect or not. */
export type Line =
  | { did: 'start' }
  | { did: 'sent' | 'editing' | 'edited'; id: number; content: string }
  | { did: 'starred' | 'read' | 'deleting' | 'deleted'; id: number }
  | { did: 'uploaded'; path: string; name: string }
  | { did: 'removing' | 'removed'; path: string }

const FILE_BYTES_MAX = 1_200_000 // more than is written in one transaction

/** Content of the file of that name. The name decides the length: one byte, or a little more than a MiB. */
export function contentOf(name: string): Buffer<ArrayBuffer> {
  const turn = Number(name.split('-')[1])
  return Buffer.alloc(1 + ((turn * 130_003) % FILE_BYTES_MAX), `${name} `)
}

export class Ledger {
  readonly #contents = new Map<number, string[]>()
  readonly #marked: Record<'starred' | 'read', Set<number>> = { starred: new Set(), read: new Set() }
  readonly #files = new Map<string, string>()
  readonly #gone = new Set<number | string>()
  readonly #maybeGone = new Set<number | string>()

  get messages(): number {
    return this.#contents.size
  }
  get files(): number {
    return this.#files.size
  }

  note(line: Line): void {
    switch (line.did) {
      case 'sent':
        assert.ok(!this.#contents.has(line.id), `id ${line.id} was given twice`)
        this.#contents.set(line.id, [line.content])
        break
      case 'editing':
        this.#contents.get(line.id)!.push(line.content)
        break
      case 'edited':
        this.#contents.set(line.id, [line.content])
        break
      case 'starred':
      case 'read':
        this.#marked[line.did].add(line.id)
        break
      case 'uploaded':
        assert.ok(!this.#files.has(line.path), `path ${line.path} was given twice`)
        this.#files.set(line.path, line.name)
        break
      case 'deleting':
        this.#maybeGone.add(line.id)
        break
      case 'removing':
        this.#maybeGone.add(line.path)
        break
      case 'deleted':
        this.#gone.add(line.id)
        break
      case 'removed':
        this.#gone.add(line.path)
        break
    }
  }

  /** `readers` are those who star and who read. */
  check({ store }: Realm, readers: Record<'starred' | 'read', number>): void {
    for (const [id, possible] of this.#contents) {
      const row = store.messages.get(id)
      if (!this.#expectThere(id, row !== undefined, `message ${id}`)) continue
      const { content, birth, ordinal } = row!
      assert.ok(possible.includes(content), `message ${id} says ${content}`)
      for (const flag of ['starred', 'read'] satisfies Flag[])
        if (this.#marked[flag].has(id)) {
          const runs = store.flags.runs(readers[flag], birth, flag)
          assert.ok(
            runs.some(([from, to]) => from <= ordinal && ordinal <= to),
            `message ${id} is ${flag}`,
          )
        }
    }
    for (const [path, name] of this.#files) {
      const row = store.uploads.byPath(path)
      if (!this.#expectThere(path, row !== undefined, `file ${path}`)) continue
      assert.ok(fileIn(store, row!.id).equals(contentOf(name)), `file ${path} is as it was sent`)
      // Which need not be looked at again and again.
      if (this.#files.size > FILES_MAX) this.#files.delete(path)
    }
  }

  #expectThere(key: number | string, isThere: boolean, what: string): boolean {
    if (this.#gone.has(key)) assert.ok(!isThere, `${what} is back`)
    else if (!isThere) assert.ok(this.#maybeGone.has(key), `${what} is lost`)
    return isThere
  }
}

const FILES_MAX = 100
