/** Which users' alert words a text has: in any case, at the limits of words. Contract 6.4. */

/** What may stand before and after a word, besides the start and the end of the text. */
const BEFORE = new Set(' \n(".,\';[*`>')
const AFTER = new Set(' \n)"?:.,\';]!*`')

interface Node {
  next: Map<string, Node>
  /** Users who have the word that ends here. */
  users: number[]
}

/** The alert words of an organisation, as a tree by letter: a text is gone through once, whatever their number. */
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

  /** Users with a word in the text, which is `alertText` of what was rendered. */
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
