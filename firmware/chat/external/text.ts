/** Text of messages that quote strangers: nothing of theirs breaks out of its place. Contract section 3.5.2. */

const TITLE_CHARACTERS_MAX = 200 // longer ones fill a screen
const URL_CHARACTERS_MAX = 500 // longer addresses would leave no room for the rest of a message
const QUOTE_CHARACTERS_MAX = 2000
const QUOTE_LINES_MAX = 20
const CONTENT_CHARACTERS_MAX = 10_000 // contract section 9, max_message_length
const TOPIC_CHARACTERS_MAX = 60 // contract section 9, max_topic_length
const TRUNCATED = '\n[message truncated]'

/** Characters that neither names nor texts may have (contract section 1.1), but for line ends and tabs. */
const INVALID = /(?![\t\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u202A-\u202E\u2066-\u2069]/gu

/** Words, punctuation that means nothing in Markdown in the middle of a line, and names of emoji. */
const LITERAL = /^(?:[\p{L}\p{M}\p{N}_ ,;'"()?%+=/-]|[.:!&](?= |$)|#(?=\d)|:[a-z\d_+-]+:)*$/u

/** In code points. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const characters = [...text.slice(0, 2 * charactersMax + 2)]
  return characters.length <= charactersMax ? text : `${characters.slice(0, charactersMax - 3).join('')}...`
}

/** Without invalid characters; lines end with LF. */
export const cleaned = (text: string): string => text.replace(/\r\n?/g, '\n').replace(INVALID, '')

export const oneLine = (text: string, charactersMax = TITLE_CHARACTERS_MAX): string =>
  cut(
    cleaned(text.slice(0, 8 * charactersMax))
      .replace(/\s+/g, ' ')
      .trim(),
    charactersMax,
  )

export const firstLine = (text: string): string => oneLine(text.trimStart().split('\n', 1)[0] ?? '')

/** A title, a name, a first line, as it was written: as code where it could be Markdown. */
export function literal(text: string, charactersMax = TITLE_CHARACTERS_MAX): string {
  const line = oneLine(text, charactersMax)
  return LITERAL.test(line) ? line : code(line, charactersMax)
}

export function bold(name: string): string {
  const shown = literal(name)
  return shown === '' || shown.includes('`') ? shown : `**${shown}**`
}

/** The fence is longer than any run of backticks in the text, so that none in it ends the code. */
export function code(text: string, charactersMax = TITLE_CHARACTERS_MAX): string {
  const line = oneLine(text, charactersMax)
  if (line === '') return ''
  const fence = '`'.repeat(longestRun(line) + 1)
  const space = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${fence}${space}${line}${space}${fence}`
}

/** Lines of a program's output, indented by the caller. */
export function codeBlock(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence} ${language}\n${text}\n${fence}`
}

const longestRun = (text: string): number =>
  (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0)

/** The label is ours, or `literal`. An address that is none of the web is left out. */
export function link(label: string, address: string | null | undefined): string {
  const url = safeUrl(address)
  return url === null ? label : `[${label}](${url})`
}

/** The team's own text on one line. */
export const inLine = (text: string): string => cleaned(text).replace(/\s+/g, ' ').trim()

/** The team's own text as a link; brackets nest where they are balanced. */
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

/** Null for what is no address of the web. Characters that Markdown could read are escaped. */
export function safeUrl(address: string | null | undefined): string | null {
  const url = URL.parse(address ?? '')
  if (url === null || !/^https?:$/.test(url.protocol) || url.href.length > URL_CHARACTERS_MAX) return null
  return url.href.replace(/[()*`\\[\]<>"'{}|^$~@]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Each line has its own mark: a fence in the text opens or closes nothing. Empty for an empty text. */
export function quote(text: string | null | undefined): string {
  const all = cut(cleaned(text ?? '').trim(), QUOTE_CHARACTERS_MAX)
  if (all === '') return ''
  const lines = all.split('\n')
  const shown = lines.length > QUOTE_LINES_MAX ? [...lines.slice(0, QUOTE_LINES_MAX), '...'] : lines
  return `\n\n${shown.map((line) => (line.trim() === '' ? '>' : `> ${line}`)).join('\n')}`
}

/** Makes mentions of users, groups and everybody silent: they are shown and notify nobody. */
export const silenced = (text: string): string => text.replace(/@(?=\*)/g, '@_')

/** A text as it is sent: no command, no invalid character, cut at the end of a line where there is one. */
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
