import data from './languages.json' with { type: 'json' }

const namesByAlias = new Map<string, string>()
for (const [name, aliases] of Object.entries(data.languages))
  for (const alias of aliases.split(' ')) if (!namesByAlias.has(alias)) namesByAlias.set(alias, name)

/** Maps a lower-case alias to the name of the language: `js` is JavaScript. Returns unknown names unchanged. */
export function canonicalLanguage(alias: string): string {
  return namesByAlias.get(alias) ?? alias
}
