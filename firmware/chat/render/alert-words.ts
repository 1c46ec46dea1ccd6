/** Finds users' alert words in a text, case-insensitively and at word boundaries. Contract 6.4. */

/** Characters at word boundaries, besides the start and the end of the text. */
const BEFORE = new Set(' \n(".,\';[*`>')
const AFTER = new Set(' \n)"?:.,\';]!*`')

interface Node {
  next: Map<string, Node>
  users: number[]
}

/** A trie of all alert words, so that one pass over a text finds them, regardless of their number. */
export class AlertWords {
  readonly #root: Node = { next: new Map(), users: [] }

  constructor(words: Iterable<readonly [userId: number, word: string]>) {
    for (const [userId, word] of words) {
      let node = this.#root
      for (const character of word.toLowerCase()) {
        let next = node.next.get(character)
        if (next === undefined) {
          next = { next: new Map(), users: [] }
          node.next.set(character, next)
        }
        node = next
      }
      if (node !== this.#root) node.users.push(userId)
    }
  }

  /** Returns users with a match. The text is `alertText` of the rendered message. */
  usersOf(alertText: string): Set<number> {
    const users = new Set<number>()
    const characters = [...alertText.toLowerCase()]
    characters.forEach((_, start) => {
      if (start > 0 && !BEFORE.has(characters[start - 1]!)) return
      let node: Node | undefined = this.#root
      for (let at = start; node !== undefined; at += 1) {
        if (node.users.length > 0 && (at === characters.length || AFTER.has(characters[at]!)))
          for (const user of node.users) users.add(user)
        if (at === characters.length) return
        node = node.next.get(characters[at]!)
      }
    })
    return users
  }
}
