/** Bots of type 4: programs that the chat has in itself. Contract section 3.5, realm_embedded_bots. */

interface EmbeddedBot {
  readonly name: string
  /** What its owner may set, as it is by default. */
  readonly config: Readonly<Record<string, string>>
  /** What it says to a message, without the mention that called it; null: nothing. */
  reply(text: string, config: Readonly<Record<string, string>>): string | null
}

const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (letter) => {
    const first = letter <= 'Z' ? 65 : 97
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first)
  })

export const EMBEDDED_BOTS: readonly EmbeddedBot[] = [
  { name: 'autoreply', config: { text: '' }, reply: (_, { text }) => text || null },
  { name: 'encrypt', config: {}, reply: (text) => (text === '' ? null : `Encrypted/Decrypted text: ${rot13(text)}`) },
  { name: 'helloworld', config: {}, reply: () => 'beep boop' },
]

export const embeddedBot = (name: string): EmbeddedBot | undefined => EMBEDDED_BOTS.find((bot) => bot.name === name)
