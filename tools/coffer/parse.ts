/** Arguments to a command and what was given to it, by the table of commands. */

import { parseArgs } from 'node:util'
import { defined } from '../../firmware/base/defined.ts'
import { COMMON, type Command, type CommandOptions, LEADING, type OptionValues } from './command.ts'
import { usage } from './failure.ts'
import { secretFile } from './passphrase.ts'

interface Parsed {
  /** Null: help for all, or the version. */
  command: Command | null
  input: OptionValues
}

/** Throws `Failure` with exit status 2. */
export function parse(commands: readonly Command[], line: readonly string[]): Parsed {
  const { leading, rest } = splitLeading(line)
  const before = parseWith(LEADING, leading, false)
  if (rest.length === 0) return { command: null, input: toGiven(translate(before.values), []) }
  const command = find(commands, rest)
  if (command === null) throw unknown(commands, rest)
  const words = command.words.split(' ').length
  const options = { ...COMMON, ...command.options }
  const { values, positionals } = parseWith(options, rest.slice(words).map(longName), true)
  checkChoices(command.options ?? {}, values)
  const input = toGiven({ ...translate(before.values), ...values }, positionals)
  if (!input.flag('help')) checkCount(command, positionals)
  return { command, input }
}

export function find(commands: readonly Command[], line: readonly string[]): Command | null {
  let best: Command | null = null
  for (const command of commands) {
    const words = command.words.split(' ')
    if (words.every((word, at) => line[at] === word) && words.length > (best?.words.split(' ').length ?? 0))
      best = command
  }
  return best
}

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

function parseWith(options: CommandOptions, args: string[], allowPositionals: boolean) {
  const declared = Object.entries(options).map(([name, { short, value, many }]) => [
    name,
    {
      type: value === undefined ? 'boolean' : 'string',
      ...(short && { short }),
      ...(many && { multiple: true }),
    } as const,
  ])
  try {
    const { values, positionals } = parseArgs({ args, options: Object.fromEntries(declared), allowPositionals })
    return { values: values as Values, positionals }
  } catch (error) {
    throw usage((error as Error).message.replace(/\. To specify.*$/s, ''))
  }
}

/** Options before the command's words, each with its value. */
function splitLeading(line: readonly string[]): { leading: string[]; rest: string[] } {
  let at = 0
  for (;;) {
    const text = line[at] ?? ''
    if (!text.startsWith('-') || text === '-') break
    const entry = Object.entries(LEADING).find(([name, { short }]) => text === `--${name}` || text === `-${short}`)
    at += entry?.[1].value === undefined ? 1 : 2
  }
  return { leading: line.slice(0, at), rest: line.slice(at) }
}

/** NetHSM's names for options that stand before the command. */
function translate({ username, password, 'ca-certs': ca, 'no-verify-tls': insecure, ...values }: Values): Values {
  return {
    ...(typeof username === 'string' && { user: username }),
    ...(typeof password === 'string' && { 'passphrase-file': secretFile('password', password) }),
    ...(typeof ca === 'string' && { ca }),
    ...(insecure === true && { insecure }),
    ...values,
  }
}

/** The one option of NetHSM's command that has two letters after one dash. */
const longName = (text: string): string => (text === '-iv' ? '--initialization-vector' : text)

function checkChoices(options: CommandOptions, values: Values): void {
  for (const [name, { choices }] of Object.entries(options)) {
    if (choices === undefined) continue
    for (const value of [values[name] ?? []].flat())
      if (!choices.includes(String(value))) throw usage(`--${name}: ${value} is none of ${choices.join(', ')}`)
  }
}

function checkCount({ words, arguments: names = '' }: Command, positionals: readonly string[]): void {
  const list = names.split(' ').filter(Boolean)
  const least = list.filter((name) => !name.startsWith('[')).length
  const isOpen = list.some((name) => name.includes('...'))
  if (positionals.length < least)
    throw usage(`${words}: ${list[positionals.length]} is missing`, `coffer ${words} ${names}`)
  if (positionals.length > list.length && !isOpen)
    throw usage(`${words}: too many arguments: ${positionals.slice(list.length).join(' ')}`, `coffer ${words} ${names}`)
}

function unknown(commands: readonly Command[], line: readonly string[]) {
  const [first] = line
  const alike = commands.filter(({ words, isNethsm }) => !isNethsm && words.startsWith(`${first} `))
  const text = line.slice(0, alike.length > 0 ? 2 : 1).join(' ')
  return usage(
    `there is no command ${text}`,
    alike.length > 0 ? alike.map(({ words }) => words).join(', ') : 'coffer help shows all',
  )
}

function toGiven(values: Values, positionals: readonly string[]): OptionValues {
  return {
    arguments: positionals,
    argument: (index) => defined(positionals[index]),
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    list: (name) => [values[name] ?? []].flat().map(String),
    flag: (name) => values[name] === true,
    number: (name) => {
      const text = values[name]
      if (typeof text !== 'string') return undefined
      if (!/^\d{1,15}$/.test(text)) throw usage(`--${name}: not a number: ${text}`)
      return Number(text)
    },
  }
}
