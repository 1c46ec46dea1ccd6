/** Code blocks, without syntax highlighting: clients work without token spans. Contract 6.1. */

import { canonicalLanguage } from '../data/languages.ts'
import { escapeText } from './html.ts'

/** `language` is the lower-case name in the text; "" without one. */
export function codeBlock(text: string, language: string): string {
  const code = `${text.replace(/^\n+|\n+$/g, '')}\n`
  if (language === '') return `<div class="codehilite"><pre><span></span><code>${escapeQuoted(code)}</code></pre></div>`
  const name = escapeText(canonicalLanguage(language)).replaceAll('"', '&quot;')
  const escaped = escapeMarkup(code)
  return `<div class="codehilite" data-code-language="${name}"><pre><span></span><code>${escaped}</code></pre></div>`
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Also escapes quotation marks if there is no language, as Zulip does. */
function escapeQuoted(text: string): string {
  return escapeMarkup(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;')
}
