/** Users, their tags and passphrases, and namespaces. */

import type { NewUser, Role, UserPage } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { table } from '../output.ts'
import { certain, ROLES } from './start.ts'

export const NEW_USER = {
  role: { short: 'r', value: 'ROLE', choices: ROLES, summary: 'role of the user' },
  'real-name': { short: 'n', value: 'TEXT', summary: 'real name; default: the id' },
  passphrase: { short: 'p', value: '@FILE', secret: true, summary: 'file with the passphrase of the user' },
} as const

const A = ['Administrator'] as const

export const USERS: Command[] = [
  {
    words: 'account',
    summary: 'Show the account that commands use.',
    roles: ROLES,
    example: 'coffer account',
    run: async ({ client, output }) => output.result(await client().account()),
  },
  {
    words: 'user list',
    summary: 'List users.',
    roles: A,
    options: { long: { short: 'l', summary: 'also names and roles' } },
    example: 'coffer user list --long',
    run: listUsers,
  },
  {
    words: 'user show',
    arguments: 'USER',
    summary: 'Show name and role of a user.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer user show web',
    run: async ({ client, output }, { arguments: [id = ''] }) => output.result(await client().user(id)),
  },
  {
    words: 'user add',
    arguments: '[USER]',
    summary: 'Add a user; NAMESPACE~USER is a user of a namespace.',
    roles: A,
    options: { ...NEW_USER, namespace: { short: 'N', value: 'NAME', summary: 'namespace of the new user' } },
    example: 'coffer user add web --role Operator',
    isFirst: true,
    run: (context, input) => addUser(context, input, input.arguments[0]),
  },
  {
    words: 'user delete',
    arguments: 'USER',
    summary: 'Delete a user.',
    roles: A,
    options: { force: { short: 'f', summary: 'no confirmation' } },
    example: 'coffer user delete guest --force',
    run: async ({ client }, input) => {
      const [id = ''] = input.arguments
      await certain(input.flag('force'), `User ${id} is deleted.`, id)
      await client().deleteUser(id)
    },
  },
  {
    words: 'user passphrase',
    arguments: '[USER]',
    summary: 'Set the passphrase of a user, by default your own.',
    roles: ['Administrator', 'Operator'],
    options: { passphrase: NEW_USER.passphrase },
    example: 'coffer user passphrase web',
    run: (context, input) => setPassphrase(context, input.arguments[0]),
  },
  {
    words: 'user tag list',
    arguments: 'USER',
    summary: 'List the tags of an Operator.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer user tag list web',
    run: async ({ client, output }, { arguments: [id = ''] }) => {
      const tags = await client().userTags(id)
      output.result(tags, () => tags.join('\n'))
    },
  },
  {
    words: 'user tag add',
    arguments: 'USER TAG',
    summary: 'Add a tag to an Operator.',
    roles: A,
    example: 'coffer user tag add web berlin',
    run: ({ client }, { arguments: [id = '', tag = ''] }) => client().addUserTag(id, tag),
  },
  {
    words: 'user tag delete',
    arguments: 'USER TAG',
    summary: 'Remove a tag from an Operator.',
    roles: A,
    example: 'coffer user tag delete web berlin',
    run: ({ client }, { arguments: [id = '', tag = ''] }) => client().deleteUserTag(id, tag),
  },
  {
    words: 'access-key list',
    arguments: '[USER]',
    summary: 'List the access keys of a user, by default your own.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer access-key list',
    run: async ({ client, output, user }, { arguments: [id = user()] }) => {
      const keys = await client().accessKeys(id)
      const cells = keys.map(({ id, name, created }) => [id, name, created])
      output.result(keys, () => table(['ID', 'NAME', 'CREATED'], cells))
    },
  },
  {
    words: 'access-key create',
    arguments: 'NAME',
    summary: 'Create an access key of yours and print its token, which is shown only once.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer access-key create backup-server',
    run: async ({ client, output, user }, { arguments: [name = ''] }) => {
      const key = await client().addAccessKey(user(), name)
      output.result(key, () => key.token)
    },
  },
  {
    words: 'access-key delete',
    arguments: 'KEY [USER]',
    summary: 'Delete an access key of a user, by default your own; KEY is its id or name.',
    roles: ['Administrator', 'Operator'],
    example: 'coffer access-key delete backup-server',
    run: async ({ client, user }, { arguments: [key = '', id = user()] }) => {
      const api = client()
      await api.deleteAccessKey(id, await accessKeyId(api, id, key))
    },
  },
  {
    words: 'namespace list',
    summary: 'List namespaces.',
    roles: A,
    example: 'coffer namespace list',
    run: listNamespaces,
  },
  {
    words: 'namespace add',
    arguments: 'NAME',
    summary: 'Create a namespace; users whose ids begin with its name become its users.',
    roles: A,
    example: 'coffer namespace add berlin',
    run: ({ client }, { arguments: [id = ''] }) => client().addNamespace(id),
  },
  {
    words: 'namespace quota',
    arguments: 'NAME',
    summary: 'Show or set how many keys and users a namespace may have.',
    roles: A,
    options: {
      keys: { value: 'N', summary: 'maximum number of keys' },
      users: { value: 'N', summary: 'maximum number of users' },
    },
    example: 'coffer namespace quota berlin --keys 20000',
    run: namespaceQuota,
  },
  {
    words: 'namespace delete',
    arguments: 'NAME',
    summary: 'Delete a namespace with all its keys.',
    roles: A,
    options: { force: { short: 'f', summary: 'no confirmation' } },
    example: 'coffer namespace delete berlin --force',
    run: async ({ client }, input) => {
      const [id = ''] = input.arguments
      await certain(input.flag('force'), `All keys in ${id} are lost for ever.`, id)
      await client().deleteNamespace(id)
    },
  },
]

async function accessKeyId(api: ReturnType<CommandContext['client']>, user: string, key: string): Promise<string> {
  const found = (await api.accessKeys(user)).filter(({ id, name }) => id === key || name === key)
  const [first, second] = found
  if (first === undefined) throw new Failure(EXIT.refused, `${user} has no access key ${key}`)
  if (second !== undefined)
    throw new Failure(EXIT.refused, `${user} has ${found.length} access keys named ${key}: give the id`)
  return first.id
}

async function namespaceQuota({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const [id = ''] = input.arguments
  const numbers = ['keys', 'users'].map((name) => [name, input.number(name)] as const)
  const wanted = numbers.filter(([, number]) => number !== undefined)
  if (wanted.length === 0) return output.result(await client().namespaceQuota(id))
  await client().setNamespaceQuota(id, Object.fromEntries(wanted))
}

export async function listNamespaces({ client, output }: CommandContext): Promise<void> {
  const found = await client().namespaces()
  const ids = () => found.map(({ id }) => id)
  output.result(found, () => ids().join('\n'), ids)
}

const PAGE_USERS = 1000

export async function listUsers({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const api = client()
  const isLong = input.flag('long') || input.flag('details')
  const users = isLong ? await detailedUsers(api) : await api.users()
  const ids = () => users.map(({ user }) => user)
  if (!isLong) return output.result(users, () => ids().join('\n'), ids)
  const cells = (users as UserPage['users']).map(({ user, role, realName }) => [user, role, realName])
  output.result(users, () => table(['USER', 'ROLE', 'NAME'], cells), ids)
}

/** Page by page. */
async function detailedUsers(api: ReturnType<CommandContext['client']>): Promise<UserPage['users']> {
  const users: UserPage['users'] = []
  for (let after: string | undefined; ; ) {
    const query = { details: true, limit: PAGE_USERS, ...(after !== undefined && { after }) } as const
    const found = (await api.users(query)) as unknown as UserPage
    users.push(...found.users)
    if (found.next === undefined) return users
    after = found.next
  }
}

export async function addUser(context: CommandContext, input: OptionValues, id: string | undefined): Promise<void> {
  const { client, output, passphrase, remember } = context
  const role = input.text('role') as Role | undefined
  if (role === undefined) throw usage('which role?', `--role ${ROLES.join(', ')}`)
  const namespace = input.text('namespace')
  const full = id !== undefined && namespace !== undefined ? `${namespace}~${id}` : id
  const words = await passphrase('passphrase', `New passphrase of ${full ?? 'the new user'}`, true)
  const user: NewUser = { realName: input.text('real-name') ?? id ?? role, role, passphrase: words }
  const api = client()
  let made = full
  if (made !== undefined) await api.addUserAs(made, user)
  else made = (namespace === undefined ? await api.addUser(user) : await api.addUserIn(namespace, user)).id
  if (input.flag('create-namespace') && namespace !== undefined) await api.addNamespace(namespace)
  if (!made.includes('~')) remember(role, made)
  output.result({ id: made }, () => made)
}

export async function setPassphrase({ client, passphrase, user }: CommandContext, id = user()): Promise<void> {
  await client().setPassphrase(id, await passphrase('passphrase', `New passphrase of ${id}`, true))
}
