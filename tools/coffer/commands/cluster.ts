/** The cluster, and the chat. */

import type { MemberAdd } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import { readInput } from '../files.ts'
import { tlsCommands } from './config.ts'
import { certain } from './start.ts'

const roles = ['Administrator'] as const
export const URLS = { url: { value: 'URL', many: true, summary: 'of the member; may be given again' } } as const
export const JOIN = {
  'backup-passphrase': { value: '@FILE', secret: true, summary: 'where the backup passphrase is read from' },
} as const

export const OTHERS: Command[] = [
  {
    words: 'cluster list',
    summary: 'Lists the members of the cluster.',
    roles,
    example: 'coffer cluster list',
    run: async ({ client, output }) => output.result(await client().members()),
  },
  {
    words: 'cluster add',
    summary: 'Registers a member; prints the file that it joins with.',
    roles,
    options: URLS,
    example: 'coffer cluster add --url https://192.168.1.2:2380',
    run: addMember,
  },
  {
    words: 'cluster set',
    arguments: 'MEMBER',
    summary: 'Changes the addresses of a member.',
    roles,
    options: URLS,
    example: 'coffer cluster set 1f --url https://192.168.1.2:2380',
    run: ({ client }, input) => client().setMember(input.arguments[0]!, input.list('url')),
  },
  {
    words: 'cluster delete',
    arguments: 'MEMBER',
    summary: 'Removes a member, which is Failed then.',
    roles,
    example: 'coffer cluster delete 1f',
    run: ({ client }, { arguments: [id] }) => client().deleteMember(id!),
  },
  {
    words: 'cluster promote',
    arguments: 'MEMBER',
    summary: 'Makes a learner a full member.',
    roles,
    example: 'coffer cluster promote 1f',
    run: ({ client }, { arguments: [id] }) => client().promoteMember(id!),
  },
  {
    words: 'cluster join',
    arguments: 'FILE',
    summary: 'Joins the cluster that printed FILE; users and keys of this appliance are erased.',
    roles,
    options: JOIN,
    example: 'coffer cluster join joiner.json',
    run: joinCluster,
  },
  {
    words: 'cluster force-new',
    summary: 'Goes on alone once the other members are lost, or have removed it; the account is "unlock".',
    roles,
    example: 'coffer cluster force-new --user unlock',
    run: ({ client }) => client().forceNewCluster(),
  },
  {
    words: 'cluster authority get',
    summary: 'Prints the certificate of the authority that signs for the cluster.',
    roles,
    example: 'coffer cluster authority get',
    run: getAuthority,
  },
  {
    words: 'cluster authority set',
    arguments: 'FILE',
    summary: 'Sets the authority that signs for the cluster; it cannot be unset.',
    roles,
    example: 'coffer cluster authority set ca.pem',
    run: ({ client }, { arguments: [file] }) => client().setClusterAuthority(readInput(file!).toString('utf8')),
  },
  ...tlsCommands('cluster tls', 'this appliance as a member of a cluster', (api) => ({
    publicKey: () => api.clusterPublicKey(),
    certificate: () => api.clusterCertificate(),
    set: (pem) => api.setClusterCertificate(pem),
    request: (subject) => api.clusterRequest(subject),
    generate: (key) => api.generateClusterKey(key),
  })),
  {
    words: 'chat show',
    summary: 'Shows whether there is a chat, and how large it is.',
    roles,
    example: 'coffer chat show',
    run: async ({ client, output }) => output.result(await client().chat()),
  },
  {
    words: 'chat create',
    arguments: 'NAME',
    summary: 'Makes the organization of the chat, and its first owner.',
    roles,
    options: {
      email: { value: 'ADDRESS', summary: 'of the owner' },
      'full-name': { value: 'TEXT', summary: 'of the owner' },
      url: { value: 'URL', summary: 'where the chat is; the one that a request names if left out' },
      password: { value: '@FILE', secret: true, summary: 'where the owner’s password is read from' },
    },
    example: 'coffer chat create Workshop --email owner@example.org --full-name Owner',
    run: async ({ client, passphrase }, input) => {
      const email = input.text('email')
      if (email === undefined) throw usage('--email is missing')
      const url = input.text('url')
      const password = await passphrase('password', `New password of ${email}`, true)
      await client().createChat({
        name: input.arguments[0]!,
        ...(url !== undefined && { url }),
        owner: { email, fullName: input.text('full-name') ?? email.split('@')[0]!, password },
      })
    },
  },
  {
    words: 'chat delete',
    arguments: 'NAME',
    summary: 'Erases the organization and everything in it.',
    roles,
    options: { force: { short: 'f', summary: 'without asking' } },
    example: 'coffer chat delete Workshop --force',
    run: async ({ client }, input) => {
      const [name] = input.arguments
      await certain(input.flag('force'), 'Every message is lost for ever.', name!)
      await client().deleteChat(name!)
    },
  },
  {
    words: 'chat settings',
    arguments: '[NAME=VALUE]...',
    summary: 'Shows or sets what the appliance’s administrator sets of the chat; values are JSON or text.',
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
    summary: 'Gives an owner who has forgotten it a new password.',
    roles,
    options: { password: { value: '@FILE', secret: true, summary: 'where it is read from' } },
    example: 'coffer chat recover-owner owner@example.org',
    run: async ({ client, passphrase }, { arguments: [email] }) => {
      const password = await passphrase('password', `New password of ${email}`, true)
      await client().recoverChatOwner({ email: email!, password })
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

async function addMember({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const made = await client().addMember(input.list('url'))
  output.result(made, () => JSON.stringify(made, null, 2)) // which is what joins
}

export async function getAuthority({ client, output }: CommandContext): Promise<void> {
  const pem = await client().clusterAuthority()
  output.result({ pem }, () => pem)
}

export async function joinCluster({ client, passphrase, input }: CommandContext): Promise<void> {
  const data = JSON.parse(readInput(input.arguments[0]!).toString('utf8')) as MemberAdd
  const backupPassphrase = await passphrase('backup-passphrase', 'Backup passphrase')
  await client().joinCluster({ ...data, backupPassphrase })
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
