/** Converts Slack's markup, "mrkdwn", to Markdown. Code stays unchanged. Contract section 3.5.2. */

import { cleaned, labeled, safeUrl } from './text.ts'

export function fromMrkdwn(text: string): string {
  return cleaned(text)
    .split(/(```[\s\S]*?```|`[^`\n]+`)/)
    .map((part, index) => (index % 2 === 0 ? formatted(part) : codeOf(part)))
    .join('')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** In Slack, code blocks may begin and end within a line. */
function codeOf(part: string): string {
  const shown = unescaped(part)
  return shown.startsWith('```') ? `\n\`\`\`\n${shown.slice(3, -3).replace(/^\n|\n$/g, '')}\n\`\`\`\n` : shown
}

/** Links and mentions are in angle brackets; literal `<`, `>` and `&` are escaped. */
function formatted(text: string): string {
  return text
    .split(/(<[^<>\n]{1,2000}>)/)
    .map((part, index) => (index % 2 === 0 ? unescaped(emphasized(part)) : referenceOf(part.slice(1, -1))))
    .join('')
}

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

/** Converts `*bold*`, `_italic_` and `~struck~`, with marks at word boundaries. */
const emphasized = (text: string): string =>
  text
    .replace(mark('_'), (_, before, inner) => `${before}\u0001${inner}\u0001`)
    .replace(mark('*'), (_, before, inner) => `${before}**${inner}**`)
    .replace(mark('~'), (_, before, inner) => `${before}~~${inner}~~`)
    .replaceAll('\u0001', '*')

/** The content excludes the mark itself, which keeps the matching time linear. */
function mark(sign: '*' | '_' | '~'): RegExp {
  const one = `[${sign}]`
  const inner = `[^\\s${sign}](?:[^\\n${sign}]{0,2000}[^\\s${sign}])?`
  return new RegExp(`(^|[^\\p{L}\\p{N}${sign}@])${one}(${inner})${one}(?![\\p{L}\\p{N}${sign}])`, 'gmu')
}

const WILDCARDS: Readonly<Record<string, string>> = { channel: 'all', everyone: 'all', here: 'all' }

function referenceOf(reference: string): string {
  const bar = reference.indexOf('|')
  const target = bar === -1 ? reference : reference.slice(0, bar)
  const label = bar === -1 ? undefined : unescaped(reference.slice(bar + 1)).trim()
  if (target.startsWith('!')) {
    const name = WILDCARDS[target.slice(1)]
    return name === undefined ? (label ?? '') : `@**${name}**`
  }
  if (target.startsWith('#')) return `#${label ?? target.slice(1)}`
  if (target.startsWith('@')) return `@${label ?? target.slice(1)}`
  if (target.startsWith('mailto:')) return label ?? target.slice('mailto:'.length)
  const address = unescaped(target)
  const url = safeUrl(address)
  if (url === null) return label ?? unescaped(`<${reference}>`)
  return label === undefined || label === '' ? url : labeled(label, address)
}
