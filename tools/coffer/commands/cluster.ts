import type { MemberAdd } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { readInput } from '../files.ts'
import { tlsCommands } from './config.ts'

const roles = ['Administrator'] as const
export const URLS = { url: { value: 'URL', many: true, summary: 'address of the member, repeatable' } } as const
export const JOIN = {
  'backup-passphrase': { value: '@FILE', secret: true, summary: 'file with the backup passphrase' },
} as const

export const CLUSTER: Command[] = [
  {
    words: 'cluster list',
    summary: 'List the members of the cluster.',
    roles,
    example: 'coffer cluster list',
    run: async ({ client, output }) => output.result(await client().members()),
  },
  {
    words: 'cluster add',
    summary: 'Register a member; prints its joiner kit.',
    roles,
    options: URLS,
    example: 'coffer cluster add --url https://192.168.1.2:2380',
    run: addMember,
  },
  {
    words: 'cluster set',
    arguments: 'MEMBER',
    summary: 'Change the addresses of a member.',
    roles,
    options: URLS,
    example: 'coffer cluster set 1f --url https://192.168.1.2:2380',
    run: ({ client }, input) => client().setMember(input.argument(0), input.list('url')),
  },
  {
    words: 'cluster delete',
    arguments: 'MEMBER',
    summary: 'Remove a member, which then becomes Failed.',
    roles,
    example: 'coffer cluster delete 1f',
    run: ({ client }, { arguments: [id = ''] }) => client().deleteMember(id),
  },
  {
    words: 'cluster promote',
    arguments: 'MEMBER',
    summary: 'Make a learner a full member.',
    roles,
    example: 'coffer cluster promote 1f',
    run: ({ client }, { arguments: [id = ''] }) => client().promoteMember(id),
  },
  {
    words: 'cluster join',
    arguments: 'FILE',
    summary: 'Join the cluster of the joiner kit FILE; erases the users and keys of this appliance.',
    roles,
    options: JOIN,
    example: 'coffer cluster join joiner.json',
    run: joinCluster,
  },
  {
    words: 'cluster force-new',
    summary:
      'Continue without the cluster after the other members are lost or have removed this one; the account is "unlock".',
    roles,
    example: 'coffer cluster force-new --user unlock',
    run: ({ client }) => client().forceNewCluster(),
  },
  {
    words: 'cluster authority get',
    summary: 'Print the certificate of the cluster CA.',
    roles,
    example: 'coffer cluster authority get',
    run: getAuthority,
  },
  {
    words: 'cluster authority set',
    arguments: 'FILE',
    summary: 'Set the cluster CA; it cannot be removed.',
    roles,
    example: 'coffer cluster authority set ca.pem',
    run: ({ client }, { arguments: [file = ''] }) => client().setClusterAuthority(readInput(file).toString('utf8')),
  },
  ...tlsCommands('cluster tls', 'this appliance as a member of a cluster', (api) => ({
    publicKey: () => api.clusterPublicKey(),
    certificate: () => api.clusterCertificate(),
    set: (pem) => api.setClusterCertificate(pem),
    request: (subject) => api.clusterRequest(subject),
    generate: (key) => api.generateClusterKey(key),
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
  const data = JSON.parse(readInput(input.argument(0)).toString('utf8')) as MemberAdd
  const backupPassphrase = await passphrase('backup-passphrase', 'Backup passphrase')
  await client().joinCluster({ ...data, backupPassphrase })
}
