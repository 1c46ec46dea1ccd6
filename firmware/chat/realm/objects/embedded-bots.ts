/** Embedded bots (type 4): programs inside the chat. Contract section 3.5, realm_embedded_bots. */

interface EmbeddedBot {
  readonly name: string
  /** Settings of the owner, with their defaults. */
  readonly config: Readonly<Record<string, string>>
  /** Reply to a message, from which the bot's mention is already removed. Null: no reply. */
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
