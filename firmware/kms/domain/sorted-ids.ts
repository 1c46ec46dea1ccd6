/** Ids in ascending byte order, as every list of the API shows them. Contract section 1.1. */

const SPLICED_MAX = 100 // more are sorted faster than they are put in one by one

/** Ids are ASCII, so the order of JavaScript strings is the order of bytes. */
export class SortedIds {
  #ids: string[] = []
  /** Those that came since: thousands at an unlock, which are sorted at once. */
  #unsorted: string[] = []

  constructor(ids: Iterable<string> = []) {
    for (const id of ids) this.insert(id)
  }

  insert(id: string): void {
    this.#unsorted.push(id)
  }

  remove(id: string): void {
    this.sort()
    const position = this.#position(id)
    if (this.#ids[position] === id) this.#ids.splice(position, 1)
  }

  /** Whoever reads comes here first; called where there is time for it. */
  sort(): void {
    const added = this.#unsorted
    if (added.length === 0) return
    this.#unsorted = []
    if (added.length < SPLICED_MAX) for (const id of added) this.#ids.splice(this.#position(id), 0, id)
    else this.#ids = this.#ids.concat(added).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  }

  /** A copy of the ids that start with `prefix`. */
  startingWith(prefix: string): string[] {
    this.sort()
    if (prefix === '') return this.#ids.slice()
    const first = this.#position(prefix)
    let end = first
    while (end < this.#ids.length && this.#ids[end]!.startsWith(prefix)) end++
    return this.#ids.slice(first, end)
  }

  /** A copy of at most `limit` ids that start with `prefix` and come after `after`, found without a look at those before. */
  after(after: string, prefix: string, limit: number): string[] {
    this.sort()
    let first = this.#position(after > prefix ? after : prefix)
    if (this.#ids[first] === after) first++
    const page = this.#ids.slice(first, first + limit)
    const end = page.findIndex((id) => !id.startsWith(prefix))
    return end === -1 ? page : page.slice(0, end)
  }

  /** The first position whose id is not below `id`. */
  #position(id: string): number {
    let low = 0
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ids[middle]! < id) low = middle + 1
      else high = middle
    }
    return low
  }
}
