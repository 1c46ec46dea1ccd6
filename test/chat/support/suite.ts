/** The chat of a test file and the accounts that its tests use. */

import { after, afterEach, beforeEach } from 'node:test'
import type { ChatOptions } from '../../../firmware/chat/process/chat.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { type Client, openTestChat, type TestChat } from './chat.ts'

type Accounts<Name extends string> = Record<Name, keyof typeof ROLES>
type Suite<Name extends string> = { rig: TestChat } & Record<Name, Client>

async function openSuite<Name extends string>(
  accounts: Accounts<Name>,
  options: Partial<ChatOptions>,
): Promise<Suite<Name>> {
  const rig = await openTestChat(options)
  const clients = Object.entries<keyof typeof ROLES>(accounts).map(([name, role]) => [
    name,
    rig.account(name, ROLES[role]),
  ])
  return { rig, ...Object.fromEntries(clients) }
}

/** One chat for all tests of the file, closed after the last one. Await it at the top level, before the first test. */
export async function chatSuite<Name extends string = never>(
  accounts = {} as Accounts<Name>,
  options: Partial<ChatOptions> = {},
): Promise<Suite<Name>> {
  const suite = await openSuite(accounts, options)
  after(() => suite.rig.close())
  return suite
}

/** A new chat for each test. The members of the returned object forward to those of the chat of the running test. */
export function chatForEachTest<Name extends string = never>(
  accounts = {} as Accounts<Name>,
  options: Partial<ChatOptions> = {},
): Suite<Name> {
  let current: Suite<Name>
  beforeEach(async () => {
    current = await openSuite(accounts, options)
  })
  afterEach(() => current.rig.close())
  const names: (keyof Suite<Name>)[] = ['rig', ...(Object.keys(accounts) as Name[])]
  const forward = (name: keyof Suite<Name>) =>
    new Proxy({}, { get: (_, property) => Reflect.get(current[name], property) })
  return Object.fromEntries(names.map((name) => [name, forward(name)])) as Suite<Name>
}
