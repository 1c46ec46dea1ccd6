/** The context of a command: calls with the right account, passphrases, results. */

import { type Client, createClient } from '../../firmware/client/client.ts'
import { basicCredentials, type Transport, withRetries } from '../../firmware/client/request.ts'
import type { Role } from '../../firmware/client/types.ts'
import { type ChatApi, withSignIn } from './chat-api.ts'
import type { Command, OptionValues } from './command.ts'
import { namingAccount, usage } from './failure.ts'
import { createOutput, type Output } from './output.ts'
import { passphraseFrom, secretFile, takeVariables } from './passphrase.ts'
import { DEFAULT_PROFILE, type KnownPort, type Profile, readProfile, writeProfile } from './profile.ts'
import { endSession, findSession, sessionId } from './session.ts'
import { createTransport, type Trust } from './transport.ts'

export interface CommandContext {
  output: Output
  signal: AbortSignal
  client(): Client
  /** Without credentials. */
  open(): Client
  /** With a sign-in at the chat, which ends with `work`. */
  chat<T>(work: (api: ChatApi) => Promise<T>): Promise<T>
  as(role: Role): Client | null
  user(): string
  /** Asks for the account's passphrase, whether there is a session or not, and has it checked. */
  login(): Promise<{ user: string; passphrase: string }>
  url(): string
  trust(): Trust
  profileName(): string
  profile(): Profile | null
  remember(role: Role, user: string): void
  /** From the option `--NAME @FILE` if it is given. */
  passphrase(name: string, what: string, isNew?: boolean): Promise<string>
  input: OptionValues
}

/** For a command with what was given to it; `leading` stood before its words. */
export function createContext(command: Command, input: OptionValues, signal: AbortSignal): CommandContext {
  const output = createOutput({ json: input.flag('json'), quiet: input.flag('quiet') })
  const variables = takeVariables()
  const name = input.text('profile') ?? (process.env.COFFER_PROFILE || DEFAULT_PROFILE)
  const host = input.text('host')
  const url = host === undefined ? undefined : addressOf(host)
  let known: Profile | null | undefined
  const profile = () => {
    if (known === undefined) known = url === undefined ? readProfile(name) : null
    return known
  }
  if (input.flag('insecure')) output.note('coffer: --insecure: the appliance’s certificate is not checked')
  /** With --host there is no profile: then it is the chat's address for commands of the chat. */
  const endpoint = (): KnownPort | null | undefined => (command.isChat ? profile()?.chat : profile())

  const address = () => {
    const found = url ?? endpoint()?.url
    if (found !== undefined) return found
    if (profile() !== null) throw usage('the chat of this appliance is not known yet', 'coffer chat connect')
    throw usage(
      name === DEFAULT_PROFILE ? 'no appliance is known yet' : `there is no profile ${name}`,
      `coffer connect https://192.168.1.1${name === DEFAULT_PROFILE ? '' : ` --as ${name}`}`,
    )
  }
  const trust = (): Trust => {
    const pin = input.text('fingerprint') ?? endpoint()?.pin
    const ca = input.text('ca') ?? endpoint()?.ca
    return { ...(pin && { pin }), ...(ca && { ca }), insecure: input.flag('insecure') }
  }
  const userOf = (roles: readonly Role[]): string | null => {
    const named = input.text('user') ?? roles.map((role) => profile()?.users[role]).find((user) => user !== undefined)
    return named ?? (roles.includes('Administrator') ? 'admin' : null)
  }
  const chatUser = (): string => {
    const found = input.text('user') ?? profile()?.chat?.user
    if (found !== undefined) return found
    throw usage('whose account of the chat?', '--user ADDRESS; a later command knows it')
  }
  const user = () => {
    if (command.isChat) return chatUser()
    const roles = command.roles ?? []
    const found = userOf(roles)
    if (found !== null) return found
    throw usage(
      `${command.words} is done by a user with role ${roles.join(' or ')}, and none is known`,
      `--user NAME, or for always: coffer profile user ${roles[0] ?? 'Administrator'} NAME`,
    )
  }

  let carrier: Transport | undefined
  const transport = () => {
    if (carrier === undefined) {
      const direct = createTransport(address(), trust())
      const interruptible: Transport = (request) => direct({ signal, ...request })
      carrier = input.flag('no-wait')
        ? interruptible
        : withRetries(interruptible, (seconds) => pause(seconds, output, signal))
    }
    return carrier
  }
  const sources = {
    file: input.text('passphrase-file'),
    descriptor: input.number('passphrase-fd'),
    program: variables.program,
    // That is of an account of the appliance, whose passphrase the chat must not see.
    ...(!command.isChat && { variable: variables.variable }),
  }
  const question = (account: string) => `${command.isChat ? 'Password' : 'Passphrase'} of ${account}`
  const inSession = new Set<string>()
  const forgetSession = async (account: string) => {
    if (!inSession.delete(account)) return
    await endSession(sessionId(address(), account))
    output.note(`coffer: the session of ${account} has ended: its passphrase was refused`)
  }
  /** A session comes before the sources that ask, and after those that were named for this call. */
  const passphraseOf = async (account: string): Promise<string> => {
    const isNamed = sources.file !== undefined || sources.descriptor !== undefined || sources.variable !== undefined
    const session = isNamed ? null : await findSession(sessionId(address(), account))
    if (session !== null) inSession.add(account)
    return session ?? passphraseFrom(sources, question(account))
  }
  const credentials = new Map<string, Promise<string>>()
  const clientOf = (account: string) =>
    createClient(
      namingAccount(transport(), account, () => forgetSession(account)),
      async () => {
        let value = credentials.get(account)
        if (value === undefined) {
          value = passphraseOf(account).then((passphrase) => basicCredentials(account, passphrase))
          credentials.set(account, value)
        }
        return value
      },
    )
  const chatWith = <T>(email: string, password: string, work: (api: ChatApi) => Promise<T>): Promise<T> =>
    withSignIn(
      {
        transport: transport(),
        lastTransport: createTransport(address(), trust()),
        email,
        password,
        onRefused: () => forgetSession(email),
        onKeyLeft: ({ message }) => output.note(`coffer: cannot revoke the API key of this sign-in: ${message}`),
      },
      async (api) => {
        rememberChatUser(email)
        return work(api)
      },
    )
  const rememberChatUser = (email: string) => {
    const { chat, ...rest } = profile() ?? {}
    if (chat !== undefined && chat.user === undefined)
      writeProfile(name, { ...(rest as Profile), chat: { ...chat, user: email } })
  }
  const login = async () => {
    const account = user()
    const passphrase = await passphraseFrom(sources, question(account))
    if (command.isChat) {
      await chatWith(account, passphrase, async () => {})
      return { user: account, passphrase }
    }
    credentials.set(account, Promise.resolve(basicCredentials(account, passphrase)))
    await clientOf(account).account()
    return { user: account, passphrase }
  }

  return {
    output,
    signal,
    input,
    client: () => clientOf(user()),
    open: () => createClient(transport(), async () => null),
    chat: async (work) => {
      const account = user()
      return chatWith(account, await passphraseOf(account), work)
    },
    as: (role) => {
      const account = userOf([role])
      return account === null ? null : clientOf(account)
    },
    user,
    login,
    url: address,
    trust,
    profileName: () => name,
    profile,
    remember: (role, user) => {
      const profile = url === undefined ? readProfile(name) : null
      if (profile !== null && profile.users[role] === undefined)
        writeProfile(name, { ...profile, users: { ...profile.users, [role]: user } })
    },
    passphrase: (option, what, isNew) => {
      const value = input.text(option)
      const file = value === undefined ? undefined : secretFile(option, value)
      // COFFER_PASSPHRASE is of the account; where a command has none, of what it asks for first.
      const isMain = command.roles === undefined && option === 'passphrase'
      const { program, variable } = variables
      const own = isMain
        ? { file: file ?? sources.file, descriptor: sources.descriptor, variable, program }
        : { file, program }
      return passphraseFrom(own, what, isNew)
    },
  }
}

/** `https://host:port`; the scheme may be left out, a path of the API as well. */
export function addressOf(text: string): string {
  try {
    const url = new URL(/^\w+:\/\//.test(text) ? text : `https://${text}`)
    if (url.protocol === 'https:' && url.username === '' && url.hostname !== '') return url.origin
  } catch {
    // said below
  }
  throw usage(`not the address of an appliance: ${text}`, 'such as https://192.168.1.1 or 127.0.0.1:8443')
}

async function pause(seconds: number, output: Output, signal: AbortSignal): Promise<void> {
  const { setTimeout } = await import('node:timers/promises')
  if (seconds > 1) output.note(`coffer: the appliance asks to wait ${seconds} seconds`)
  await setTimeout(seconds * 1000, undefined, { signal })
}
