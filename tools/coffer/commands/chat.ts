/** The chat: its organization, by calls of the appliance; and members and invitations, by calls of the chat itself. */

import { defined } from '../../../firmware/base/defined.ts'
import { CHAT_ROLES, type ChatMember, type ChatTerms } from '../chat-api.ts'
import type { Command, OptionValues } from '../command.ts'
import { addressOf, type CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { table } from '../output.ts'
import { readProfile, writeProfile } from '../profile.ts'
import { pinOf } from '../transport.ts'
import { tlsCommands } from './config.ts'
import { LOGIN, login, logout } from './session.ts'
import { acceptPeer, certain } from './start.ts'

const roles = ['Administrator'] as const
const MINUTES_A_DAY = 1440
const TERMS = {
  channel: {
    value: 'NAME',
    many: true,
    summary: 'channel to subscribe to, repeatable; default: the default channels',
  },
  role: { value: 'ROLE', choices: Object.keys(CHAT_ROLES), summary: 'role of the new member; default: member' },
  days: { value: 'NUMBER', summary: 'validity of the link in days; default: 10' },
} as const

export const CHAT: Command[] = [
  {
    words: 'chat show',
    summary: 'Show the state and size of the chat.',
    roles,
    example: 'coffer chat show',
    run: async ({ client, output }) => output.result(await client().chat()),
  },
  {
    words: 'chat create',
    arguments: 'NAME',
    summary: 'Create the organization of the chat and its first owner.',
    roles,
    options: {
      email: { value: 'ADDRESS', summary: 'email address of the owner' },
      'full-name': { value: 'TEXT', summary: 'name of the owner' },
      url: { value: 'URL', summary: 'address of the chat; default: the one that clients use' },
      password: { value: '@FILE', secret: true, summary: 'file with the owner’s password' },
    },
    example: 'coffer chat create Workshop --email owner@example.org --full-name Owner',
    run: async ({ client, passphrase, output }, input) => {
      const email = input.text('email')
      if (email === undefined) throw usage('--email is missing')
      const url = input.text('url')
      const password = await passphrase('password', `New password of ${email}`, true)
      await client().createChat({
        name: input.argument(0),
        ...(url !== undefined && { url }),
        owner: { email, fullName: input.text('full-name') ?? email.replace(/@.*$/s, ''), password },
      })
      output.note(`Next: coffer chat connect, coffer chat join-link --user ${email}`)
    },
  },
  {
    words: 'chat connect',
    arguments: '[URL]',
    summary:
      'Save the chat in the profile, with the TLS key that the appliance reports; URL if it has another address.',
    roles,
    example: 'coffer chat connect',
    run: connect,
  },
  {
    words: 'chat login',
    summary: 'Keep the password of a chat account in memory for some minutes.',
    isChat: true,
    options: LOGIN,
    example: 'coffer chat login --user owner@example.org',
    run: login,
  },
  {
    words: 'chat logout',
    summary: 'Forget the password kept by chat login.',
    isChat: true,
    example: 'coffer chat logout',
    run: logout,
  },
  {
    words: 'chat members',
    summary: 'List the accounts of the chat.',
    isChat: true,
    options: { all: { short: 'a', summary: 'include deactivated accounts' } },
    example: 'coffer chat members',
    run: listMembers,
  },
  {
    words: 'chat join-link',
    summary: 'Create a link by which anyone can join the chat.',
    isChat: true,
    options: TERMS,
    example: 'coffer chat join-link --channel general',
    run: async ({ chat, output }, input) => {
      const link = await chat((api) => api.joinLink(termsOf(input)))
      output.result({ invite_link: link }, () => link)
    },
  },
  {
    words: 'chat invite',
    arguments: 'ADDRESS...',
    summary: 'Create an invitation link for each email address; no mail is sent.',
    isChat: true,
    options: TERMS,
    example: 'coffer chat invite anna@example.org --channel general',
    run: async ({ chat, output }, input) => {
      const made = await chat((api) => api.invite(input.arguments, termsOf(input)))
      const links = () => made.map(({ invite_link: link }) => link)
      output.result(
        made,
        () =>
          table(
            ['ADDRESS', 'LINK'],
            made.map(({ email, invite_link: link }) => [email, link]),
          ),
        links,
      )
    },
  },
  {
    words: 'chat delete',
    arguments: 'NAME',
    summary: 'Erase the organization and everything in it.',
    roles,
    options: { force: { short: 'f', summary: 'no confirmation' } },
    example: 'coffer chat delete Workshop --force',
    run: async ({ client }, input) => {
      const [name = ''] = input.arguments
      await certain(input.flag('force'), 'Every message is lost for ever.', name)
      await client().deleteChat(name)
    },
  },
  {
    words: 'chat settings',
    arguments: '[NAME=VALUE]...',
    summary: 'Show or set the chat settings of the appliance; values are JSON or text.',
    roles,
    example: 'coffer chat settings uploadQuotaMib=2048',
    run: async ({ client, output }, { arguments: pairs }) => {
      if (pairs.length === 0) return output.result(await client().chatSettings())
      await client().setChatSettings(Object.fromEntries(pairs.map(pairOf)))
    },
  },
  {
    words: 'chat recover-owner',
    arguments: 'EMAIL',
    summary: 'Set a new password for an owner who has forgotten theirs.',
    roles,
    options: { password: { value: '@FILE', secret: true, summary: 'file with the new password' } },
    example: 'coffer chat recover-owner owner@example.org',
    run: async ({ client, passphrase }, { arguments: [email = ''] }) => {
      const password = await passphrase('password', `New password of ${email}`, true)
      await client().recoverChatOwner({ email: email, password })
    },
  },
  ...tlsCommands('chat tls', 'the chat’s port', (api) => ({
    publicKey: () => api.chatTlsPublicKey(),
    certificate: () => api.chatTlsCertificate(),
    set: (pem) => api.setChatTlsCertificate(pem),
    request: (subject) => api.chatTlsRequest(subject),
    generate: (key) => api.generateChatTlsKey(key),
  })),
]

/** Without a URL the appliance says where its chat is, and by which key it is known. */
async function connect(context: CommandContext, input: OptionValues): Promise<void> {
  const { output, profileName } = context
  const profile = readProfile(profileName())
  if (profile === null) throw usage(`there is no profile ${profileName()}`, 'coffer connect URL')
  const [given] = input.arguments
  const known = given === undefined ? await ownEndpoint(context) : profile.chat
  const url = given === undefined ? defined(known).url : addressOf(given)
  const endpoint = await acceptPeer(context, url, known, given === undefined ? undefined : input.text('fingerprint'))
  const user = profile.chat?.url === url ? profile.chat.user : undefined
  writeProfile(profileName(), { ...profile, chat: { ...endpoint, ...(user && { user }) } })
  output.note(`${profileName()}: chat at ${url}`)
}

async function ownEndpoint({ client, url }: CommandContext): Promise<{ url: string; pin: string }> {
  const api = client()
  const { state, port, url: set } = await api.chat()
  if (state === 'none') throw new Failure(EXIT.refused, 'there is no chat yet', 'coffer chat create NAME')
  if (state !== 'running') throw new Failure(EXIT.refused, `the chat is ${state}`, 'coffer chat show')
  const { createPublicKey } = await import('node:crypto')
  const pin = await pinOf(createPublicKey(await api.chatTlsPublicKey()))
  return { url: set ? addressOf(String(set)) : `https://${new URL(url()).hostname}:${port}`, pin }
}

function termsOf(input: OptionValues): ChatTerms {
  const [role, days] = [input.text('role'), input.number('days')]
  return {
    channels: input.list('channel'),
    ...(role !== undefined && { role: defined(CHAT_ROLES[role]) }),
    ...(days !== undefined && { minutes: days * MINUTES_A_DAY }),
  }
}

async function listMembers({ chat, output }: CommandContext, input: OptionValues): Promise<void> {
  const all = await chat((api) => api.members())
  const members = input.flag('all') ? all : all.filter((member) => member.is_active)
  const addressOfMember = (member: ChatMember) => member.delivery_email ?? member.email
  output.result(
    members,
    () =>
      table(
        ['ID', 'NAME', 'ADDRESS', 'ROLE'],
        members.map((member) => [member.user_id, member.full_name, addressOfMember(member), roleOf(member)]),
      ),
    () => members.map(addressOfMember),
  )
}

function roleOf({ role, is_bot: isBot, is_active: isActive }: ChatMember): string {
  const name = Object.keys(CHAT_ROLES).find((name) => CHAT_ROLES[name] === role) ?? String(role)
  return [name, ...(isBot ? ['bot'] : []), ...(isActive ? [] : ['deactivated'])].join(', ')
}

function pairOf(text: string): [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`not NAME=VALUE: ${text}`)
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}
