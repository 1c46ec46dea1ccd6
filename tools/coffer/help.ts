/** Help: first steps, a list, a page for each command, and a manual page (man(7)). All is made from the table of commands. */

import { COMMON, type Command, type CommandOptions, LEADING, type Option } from './command.ts'
import { table } from './output.ts'

const ABOUT = 'coffer administers and uses Coffer, a network appliance that keeps keys.'
const DETAILS = `coffer help shows all commands, coffer help COMMAND one of them.`

export function firstDay(commands: readonly Command[]): string {
  const rows = commands.filter(({ isFirst }) => isFirst).map(({ example, summary }) => [`  ${example}`, summary])
  return `${ABOUT} A first day:\n\n${table(['', ''], rows).trimStart().replace(/^/, '  ')}\n\n${DETAILS}\n`
}

export function listing(commands: readonly Command[]): string {
  const rows = (isNethsm: boolean) =>
    table(
      ['', ''],
      commands.filter((command) => (command.isNethsm ?? false) === isNethsm).map((c) => [`  ${c.words}`, c.summary]),
    ).replace(/^\s*\n/, '')
  return `${ABOUT}\n\n${rows(false)}\n\nAliases with the names of NetHSM’s CLI:\n\n${rows(true)}\n\nOptions of all commands:\n\n${optionTable(COMMON)}\n\n${EXITS}\n`
}

export function page(command: Command): string {
  const own = command.options ? `\n\nOptions:\n\n${optionTable(command.options)}` : ''
  const account = accountOf(command)
  const role = account === null ? '' : `\n${account}\n`
  return `${synopsis(command)}\n\n${command.summary}\n${role}\nExample:\n\n  ${command.example}${own}\n\nOptions of every command:\n\n${optionTable(COMMON)}\n`
}

const accountOf = ({ roles, isChat }: Command): string | null => {
  if (isChat) return 'Needs an account of the chat.'
  return roles ? `Needs a user with role ${roles.join(' or ')}.` : null
}

const EXITS =
  'Exit status: 0 done, 1 refused, 2 invalid command, 3 no connection, 4 locked or not provisioned, 5 wrong credentials.'

const synopsis = ({ words, arguments: names, options }: Command): string =>
  ['coffer', words, names, options && '[options]'].filter(Boolean).join(' ')

const optionName = (name: string, { short, value }: Option): string =>
  `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`

const optionTable = (options: CommandOptions): string =>
  table(
    ['', ''],
    Object.entries(options).map(([name, option]) => [`  ${optionName(name, option)}`, describe(option)]),
  ).replace(/^\s*\n/, '')

const describe = ({ summary, choices }: Option): string => (choices ? `${summary}: ${choices.join(', ')}` : summary)

/** roff of the man macros. */
export function manual(commands: readonly Command[], version: string): string {
  const item = (head: string, text: string) => `.TP\n\\fB${roff(head)}\\fR\n${roff(text)}`
  const options = (list: CommandOptions) =>
    Object.entries(list).map(([name, o]) => item(optionName(name, o), describe(o)))
  const body = commands.flatMap((command) => [
    `.SS "${roff(synopsis(command))}"`,
    roff(command.summary),
    ...[accountOf(command) ?? []].flat().map((account) => `.PP\n${roff(account)}`),
    `.PP\n.nf\n    ${roff(command.example)}\n.fi`,
    ...options(command.options ?? {}),
  ])
  return [
    `.TH COFFER 1 "" "coffer ${version}"`,
    '.SH NAME',
    'coffer \\- administers and uses Coffer',
    '.SH SYNOPSIS',
    '.B coffer\nCOMMAND [arguments] [options]',
    '.SH COMMANDS',
    ...body,
    '.SH OPTIONS',
    ...options(LEADING),
    '.SH EXIT STATUS',
    roff(EXITS),
    '.SH ENVIRONMENT',
    item('COFFER_PROFILE', 'the profile, as --profile'),
    item('COFFER_PASSPHRASE', 'the passphrase of the account, unless that is of the chat'),
    item(
      'COFFER_ASKPASS',
      'a program that is asked for passphrases: it gets the question as its argument and prints the answer',
    ),
    '.SH FILES',
    item(
      '$XDG_CONFIG_HOME/coffer/NAME.json',
      'a profile: address, key of the certificate, users by role; never a passphrase',
    ),
    '',
  ].join('\n')
}

const roff = (text: string): string =>
  text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1')
