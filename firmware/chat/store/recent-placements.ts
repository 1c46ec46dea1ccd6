/**
 * Placements of the newest messages by birth, kept for calls that come in crowds. After an unlock every client registers, and all read
 * placements of the same messages; rights and flags are those of each user and are not kept here.
 */

import { defined } from '../../base/defined.ts'
import { createIdleTimer } from '../../base/idle-timer.ts'
import type { PackedRows, PlacedRow } from './messages.ts'

/** About 40 bytes each. Above it everything is dropped. */
const ROWS_MAX = 500_000
/** Clients of a crowd follow each other closely; memory is not held longer. */
const KEPT_MS = 1000
/** Ids of one topic, ascending. */
export interface TopicIds {
  readonly ids: number[]
  /** `ids`, separated by commas. */
  text(): string
}

/**
 * Messages sent to one birth with the ordinals from..to. `ids`, `ordinals` and `topics` list those that are still in their birth, ascending;
 * `moved` those that a move placed elsewhere or in a private channel. A move assigns no ordinal, so ids ascend with ordinals.
 */
export interface SentMessages {
  readonly birth: number
  readonly from: number
  readonly to: number
  readonly ids: readonly number[]
  readonly ordinals: readonly number[]
  readonly topics: readonly number[]
  readonly moved: readonly PlacedRow[]
  byTopic(): ReadonlyMap<number, TopicIds>
  /** Loads at least the messages from the ordinal `from` on. */
  extend(from: number): void
}

export interface SentCache {
  /** Drops what was kept if messages were moved or removed since. Call first, outside transactions. */
  begin(): void
  /** Returns what is kept of the newest messages, up to `to`. `extend` loads older ones. The object grows with later calls. */
  newest(birth: number, to: number): SentMessages
  /** Returns messages up to `to` that are not kept: nobody else reads the same ones. */
  older(birth: number, to: number): SentMessages
  /** Number of rows kept. */
  readonly size: number
}

interface Source {
  packedBetween(birth: number, from: number, to: number): PackedRows
  placedElsewhere(birth: number, from: number, to: number): PlacedRow[]
  /** Number of moves and removals of messages. */
  moves(): number
}

export function createSentCache(source: Source, rowsMax = ROWS_MAX): SentCache {
  const kept = new Map<number, Sent>()
  let moves = source.moves()
  const size = (): number => [...kept.values()].reduce((sum, { ids, moved }) => sum + ids.length + moved.length, 0)
  const idle = createIdleTimer(KEPT_MS, () => kept.clear())

  return {
    begin() {
      if (moves !== source.moves() || size() > rowsMax) kept.clear()
      moves = source.moves()
      idle.touch()
    },
    newest(birth, to) {
      let sent = kept.get(birth)
      if (sent === undefined) {
        sent = new Sent(source, birth, to + 1)
        kept.set(birth, sent)
      }
      if (sent.to < to) sent.append(to)
      return sent
    },
    older: (birth, to) => new Sent(source, birth, to + 1),
    get size() {
      return size()
    },
  }
}

class Sent implements SentMessages {
  readonly birth: number
  from: number
  to: number
  ids: number[] = []
  ordinals: number[] = []
  topics: number[] = []
  moved: PlacedRow[] = []
  readonly #source: Source
  #byTopic = new Map<number, Topic>()
  #indexed = 0

  constructor(source: Source, birth: number, from: number) {
    this.#source = source
    this.birth = birth
    this.from = from
    this.to = from - 1
  }

  append(to: number): void {
    const { rows, moved } = this.#read(this.to + 1, to)
    for (const id of rows.ids) this.ids.push(id)
    for (const ordinal of rows.ordinals) this.ordinals.push(ordinal)
    for (const topic of rows.topics) this.topics.push(topic)
    this.moved.push(...moved)
    this.to = to
  }

  extend(from: number): void {
    if (from >= this.from) return
    // Half as many again, so that a crowd of which each needs a few more does not copy everything each time.
    const low = Math.max(1, Math.min(from, this.from - ((this.to - this.from + 1) >> 1)))
    const { rows, moved } = this.#read(low, this.from - 1)
    this.ids = rows.ids.concat(this.ids)
    this.ordinals = rows.ordinals.concat(this.ordinals)
    this.topics = rows.topics.concat(this.topics)
    this.moved = moved.concat(this.moved)
    this.from = low
    this.#byTopic = new Map()
    this.#indexed = 0
  }

  #read(from: number, to: number): { rows: PackedRows; moved: PlacedRow[] } {
    const rows = this.#source.packedBetween(this.birth, from, to)
    return { rows, moved: rows.isWhole ? [] : this.#source.placedElsewhere(this.birth, from, to) }
  }

  byTopic(): ReadonlyMap<number, TopicIds> {
    for (; this.#indexed < this.ids.length; this.#indexed++) {
      const topic = defined(this.topics[this.#indexed])
      const id = defined(this.ids[this.#indexed])
      const known = this.#byTopic.get(topic)
      if (known === undefined) this.#byTopic.set(topic, new Topic(id))
      else known.add(id)
    }
    return this.#byTopic
  }
}

class Topic implements TopicIds {
  readonly ids: number[]
  #text: string | undefined

  constructor(first: number) {
    this.ids = [first]
  }

  add(id: number): void {
    this.ids.push(id)
    this.#text = undefined
  }

  text(): string {
    this.#text ??= this.ids.join(',')
    return this.#text
  }
}
