/** The declaration of a command, from which parser, help, completion and manual page are made. */

import { defined } from '../../firmware/base/defined.ts'
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
  /** An argument that the command declares as required. */
  argument(index: number): string
  text(name: string): string | undefined
  list(name: string): string[]
  flag(name: string): boolean
  number(name: string): number | undefined
}

export const COMMON: CommandOptions = {
  profile: {
    value: 'NAME',
    summary: 'name of the appliance’s profile; default: COFFER_PROFILE, else "default"',
  },
  host: { value: 'URL', summary: 'URL of the appliance, or host and port, instead of a profile' },
  user: {
    value: 'NAME',
    summary:
      'the account; default: the profile’s user with the role that the command needs. For the chat, an email address',
  },
  'passphrase-file': { value: 'FILE', summary: 'file with the passphrase of the account (first line)' },
  'passphrase-fd': { value: 'NUMBER', summary: 'file descriptor to read it from' },
  ca: { value: 'FILE', summary: 'certificates (PEM) of the trusted authorities, instead of the system’s' },
  fingerprint: {
    value: 'PIN',
    summary: 'pin of the TLS key, sha256//..., as the appliance’s terminal shows it',
  },
  insecure: { summary: 'accept any certificate (tests only; prints a warning)' },
  json: { summary: 'result as JSON, as the API sends it' },
  quiet: { summary: 'result as one bare value per line' },
  'no-wait': { summary: 'fail immediately if the appliance is busy, instead of trying again' },
  help: { summary: 'help for the command' },
}

/** Before the command's words, as NetHSM's command has them. */
export const LEADING: CommandOptions = {
  ...COMMON,
  host: { ...defined(COMMON.host), short: 'h' },
  username: { short: 'u', value: 'NAME', summary: 'the same as --user' },
  password: { short: 'p', value: '@FILE', secret: true, summary: 'the same as --passphrase-file' },
  'ca-certs': { value: 'FILE', summary: 'the same as --ca' },
  'verify-tls': { summary: 'no effect: TLS is always verified' },
  'no-verify-tls': { summary: 'the same as --insecure' },
  debug: { summary: 'stack traces of unexpected errors' },
  version: { summary: 'version of this program' },
}
