/** Ids in ascending byte order, as in all lists of the API. Contract section 1.1. */

const SPLICED_MAX = 100 // more are sorted faster than inserted one by one

/** Ids are ASCII, so JavaScript's string order is the byte order. */
export class SortedIds {
  #ids: string[] = []
  /** Ids inserted since the last sort; an unlock inserts thousands. */
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

  /** All reads call it. Call it early to avoid the delay in a request. */
  sort(): void {
    const added = this.#unsorted
    if (added.length === 0) return
    this.#unsorted = []
    if (added.length < SPLICED_MAX) for (const id of added) this.#ids.splice(this.#position(id), 0, id)
    else this.#ids = this.#ids.concat(added).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  }

  startingWith(prefix: string): string[] {
    this.sort()
    if (prefix === '') return this.#ids.slice()
    const first = this.#position(prefix)
    let end = first
    while (this.#ids[end]?.startsWith(prefix)) end++
    return this.#ids.slice(first, end)
  }

  /** Returns a copy of at most `limit` ids that start with `prefix` and follow `after`. Takes logarithmic time. */
  after(after: string, prefix: string, limit: number): string[] {
    this.sort()
    let first = this.#position(after > prefix ? after : prefix)
    if (this.#ids[first] === after) first++
    const page = this.#ids.slice(first, first + limit)
    const end = page.findIndex((id) => !id.startsWith(prefix))
    return end === -1 ? page : page.slice(0, end)
  }

  #position(id: string): number {
    let low = 0
    let high = this.#ids.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ids[middle] ?? '') < id) low = middle + 1
      else high = middle
    }
    return low
  }
}
