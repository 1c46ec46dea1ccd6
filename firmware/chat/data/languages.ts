/** Names of programming languages. */

import data from './languages.json' with { type: 'json' }

const namesByAlias = new Map<string, string>()
for (const [name, aliases] of Object.entries(data.languages))
  for (const alias of aliases.split(' ')) if (!namesByAlias.has(alias)) namesByAlias.set(alias, name)

/** The name of a language that is called `alias`, which is in lower case: `js` is JavaScript. Others keep their name. */
export function canonicalLanguage(alias: string): string {
  return namesByAlias.get(alias) ?? alias
}
