/** Quotes untrusted text in messages, so that it cannot escape from its place. Contract section 3.5.2. */

const TITLE_CHARACTERS_MAX = 200 // longer ones fill a screen
const URL_CHARACTERS_MAX = 500 // longer addresses would leave no room for the rest of a message
const QUOTE_CHARACTERS_MAX = 2000
const QUOTE_LINES_MAX = 20
const CONTENT_CHARACTERS_MAX = 10_000 // contract section 9, max_message_length
const TOPIC_CHARACTERS_MAX = 60 // contract section 9, max_topic_length
const TRUNCATED = '\n[message truncated]'

/** Characters that neither names nor texts may have (contract section 1.1), except line breaks and tabs. */
const INVALID = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u202A-\u202E\u2066-\u2069]/gu

/** Words, punctuation without meaning in Markdown within a line, and names of emoji. */
const LITERAL = /^(?:[\p{L}\p{M}\p{N}_ ,;'"()?%+=/-]|[.:!&](?= |$)|#(?=\d)|:[a-z\d_+-]+:)*$/u

/** `charactersMax` counts code points. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const characters = [...text.slice(0, 2 * charactersMax + 2)]
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 3).join('')}...`
}

/** Removes invalid characters and normalizes line breaks to LF. */
export const cleaned = (text: string): string => text.replace(/\r\n?/g, '\n').replace(INVALID, '')

export const oneLine = (text: string, charactersMax = TITLE_CHARACTERS_MAX): string =>
  cut(
    cleaned(text.slice(0, 8 * charactersMax))
      .replace(/\s+/g, ' ')
      .trim(),
    charactersMax,
  )

export const firstLine = (text: string): string => oneLine(text.trimStart().split('\n', 1)[0] ?? '')

/** Shows a title, a name or a first line literally: as code if Markdown could interpret it. */
export function literal(text: string, charactersMax = TITLE_CHARACTERS_MAX): string {
  const line = oneLine(text, charactersMax)
  return LITERAL.test(line) ? line : code(line, charactersMax)
}

export function bold(name: string): string {
  const shown = literal(name)
  return shown === '' || shown.includes('`') ? shown : `**${shown}**`
}

/** The fence is longer than any run of backticks in the text, so that the text cannot end it. */
export function code(text: string, charactersMax = TITLE_CHARACTERS_MAX): string {
  const line = oneLine(text, charactersMax)
  if (line === '') return ''
  const fence = '`'.repeat(longestRun(line) + 1)
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

/** Output of a program. The caller indents it. */
export function codeBlock(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence} ${language}\n${text}\n${fence}`
}

const longestRun = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)

/** `label` must be trusted or come from `literal`. Omits the link if the address is not a web address. */
export function link(label: string, address: string | null | undefined): string {
  const url = safeUrl(address)
  return url === null ? label : `[${label}](${url})`
}

/** Puts text of the team's own members on one line. */
export const inLine = (text: string): string => cleaned(text).replace(/\s+/g, ' ').trim()

/** Makes a link from text of the team's own members. Balanced brackets nest. */
export function labeled(text: string, address: string | null | undefined): string {
  const label = inLine(text)
  return link(isBalanced(label) ? label : label.replace(/[[\]]/g, ''), address)
}

function isBalanced(text: string): boolean {
  let depth = 0
  for (const character of text) {
    if (character === '[') depth++
    if (character === ']' && --depth < 0) return false
  }
  return depth === 0
}

/** Null unless it is a web address. Escapes characters that Markdown could interpret. */
export function safeUrl(address: string | null | undefined): string | null {
  const url = URL.parse(address ?? '')
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > URL_CHARACTERS_MAX) return null
  return url.href.replace(/[()*`\\[\]<>"'{}|^$~@]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Marks each line as quoted, so that a fence in the text cannot open or close anything. Empty for an empty text. */
export function quote(text: string | null | undefined): string {
  const all = cut(cleaned(text ?? '').trim(), QUOTE_CHARACTERS_MAX)
  if (all === '') return ''
  const lines = all.split('\n')
  const shown = lines.length > QUOTE_LINES_MAX ? [...lines.slice(0, QUOTE_LINES_MAX), '...'] : lines
  return `\n\n${shown.map((line) => (line.trim() === '' ? '>' : `> ${line}`)).join('\n')}`
}

/** Makes mentions of users, groups and wildcards silent: they are shown and notify no one. */
export const silenced = (text: string): string => text.replace(/@(?=\*)/g, '@_')

/** Prepares a text for sending: no commands, no invalid characters, truncated at a line break if possible. */
export function contentOf(text: string): string {
  const clean = cleaned(text).trimEnd()
  const content = /^\/(?:me|poll|todo)(?!\S)/.test(clean) ? ` ${clean}` : clean
  if (content.length <= CONTENT_CHARACTERS_MAX) return content
  const characters = [...content]
  if (characters.length <= CONTENT_CHARACTERS_MAX) return content
  const head = characters.slice(0, CONTENT_CHARACTERS_MAX - TRUNCATED.length).join('')
  const end = head.lastIndexOf('\n')
  return (end > head.length / 2 ? head.slice(0, end) : head) + TRUNCATED
}

export const topicOf = (topic: string): string => oneLine(topic, TOPIC_CHARACTERS_MAX)
