/** The declaration of a command, from which parser, help, completion and manual page are made. */

import type { Role } from '../../firmware/client/types.ts'
import type { CommandContext } from './context.ts'

export interface Option {
  /** One letter. */
  short?: string
  /** The name of its value; a flag has none. */
  value?: string
  many?: boolean
  choices?: readonly string[]
  /** Its value is `@FILE`, where a passphrase is read from; it may never stand in the arguments. */
  secret?: boolean
  summary: string
}

export type CommandOptions = Readonly<Record<string, Option>>

export interface Command {
  /** `key generate`. */
  words: string
  summary: string
  /** `KEY`, `[FILE]`, `TAG...`. */
  arguments?: string
  options?: CommandOptions
  /** The roles whose account it may use: the first for which the profile names a user. Absent: it sends no credentials. */
  roles?: readonly Role[]
  isChat?: boolean
  example: string
  isFirst?: boolean
  isNethsm?: boolean
  run(context: CommandContext, input: OptionValues): Promise<void>
}

export interface OptionValues {
  arguments: readonly string[]
  text(name: string): string | undefined
  list(name: string): string[]
  flag(name: string): boolean
  number(name: string): number | undefined
}

export const COMMON: CommandOptions = {
  profile: {
    value: 'NAME',
    summary: 'the appliance, by the name that connect gave it; else COFFER_PROFILE, else "default"',
  },
  host: { value: 'URL', summary: 'the appliance, without a profile: https://192.168.1.1, or host and port' },
  user: {
    value: 'NAME',
    summary: 'the account, instead of the profile’s user of the role that the command needs; in the chat its address',
  },
  'passphrase-file': { value: 'FILE', summary: 'where the passphrase of the account is read from (first line)' },
  'passphrase-fd': { value: 'NUMBER', summary: 'the descriptor that it is read from' },
  ca: { value: 'FILE', summary: 'certificates (PEM) of the authorities that are trusted, instead of the system’s' },
  fingerprint: {
    value: 'PIN',
    summary: 'the key of its certificate, sha256//..., as the appliance’s console shows it',
  },
  insecure: { summary: 'takes any certificate: for tests, and said each time' },
  json: { summary: 'the result as JSON, as the API sent it' },
  quiet: { summary: 'the result as one bare value a line' },
  'no-wait': { summary: 'fails at once where the appliance asks to try again later' },
  help: { summary: 'what the command does' },
}

/** Before the command's words, as NetHSM's command has them. */
export const LEADING: CommandOptions = {
  ...COMMON,
  host: { ...COMMON.host!, short: 'h' },
  username: { short: 'u', value: 'NAME', summary: 'the same as --user' },
  password: { short: 'p', value: '@FILE', secret: true, summary: 'the same as --passphrase-file' },
  'ca-certs': { value: 'FILE', summary: 'the same as --ca' },
  'verify-tls': { summary: 'what is done anyway' },
  'no-verify-tls': { summary: 'the same as --insecure' },
  debug: { summary: 'shows where an unexpected error comes from' },
  version: { summary: 'the version of this program' },
}
