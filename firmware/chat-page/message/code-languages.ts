/** Languages of code. The server writes the names of Pygments, of which highlight.js does not know all. */

import highlighter from 'highlight.js/lib/common'

/** Names of highlight.js by those of Pygments in lower case. */
const NAMES = new Map([
  ['bash session', 'shell'],
  ['java server page', 'java'],
  ['lesscss', 'less'],
  ['objective-c', 'objectivec'],
  ['python console session', 'python-repl'],
  ['ruby irb session', 'ruby'],
  ['s', 'r'],
  ['text only', 'plaintext'],
  ['vb.net', 'vbnet'],
])

/** The language as highlight.js names it. Undefined if it has no grammar for it. */
export function grammarOf(language: string): string | undefined {
  const name = NAMES.get(language.toLowerCase()) ?? language
  return highlighter.getLanguage(name) === undefined ? undefined : name
}
