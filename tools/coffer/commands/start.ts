/** First contact with an appliance, and what makes it ready: connect, provision, unlock. */

import { defined } from '../../../firmware/base/defined.ts'
import { createClient } from '../../../firmware/client/client.ts'
import { ApiError } from '../../../firmware/client/request.ts'
import type { Role, State } from '../../../firmware/client/types.ts'
import type { Command } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { addressOf } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { table } from '../output.ts'
import { passphraseFrom } from '../passphrase.ts'
import { type KnownPort, listProfiles, readProfile, removeProfile, writeProfile } from '../profile.ts'
import { ask, confirm } from '../terminal.ts'
import { createTransport, meet } from '../transport.ts'

export const ROLES: readonly Role[] = ['Administrator', 'Operator', 'Metrics', 'Backup']
const STATES: readonly State[] = ['Unprovisioned', 'Locked', 'Operational', 'Failed']
const POLL_MS = 200 // a restart takes longer
const WAIT_SECONDS = 300

export const START: Command[] = [
  {
    words: 'connect',
    arguments: 'URL',
    summary: 'Show the key of an appliance’s certificate, ask for confirmation, and save it in a profile.',
    options: { as: { value: 'NAME', summary: 'name of the profile; default: default' } },
    example: 'coffer connect https://192.168.1.1:8443',
    isFirst: true,
    run: connect,
  },
  {
    words: 'profile list',
    summary: 'List the profiles: the appliances that this computer knows.',
    example: 'coffer profile list',
    run: async ({ output }) => {
      const profiles = listProfiles().map((name) => ({ name, ...defined(readProfile(name)) }))
      output.result(
        profiles,
        () =>
          table(
            ['NAME', 'URL', 'USERS'],
            profiles.map(({ name, url, users }) => [name, url, Object.values(users).join(', ')]),
          ),
        () => profiles.map(({ name }) => name),
      )
    },
  },
  {
    words: 'profile user',
    arguments: 'ROLE NAME',
    summary: 'Set the user for commands that need a role.',
    example: 'coffer profile user Operator web',
    run: async ({ output, profileName }, { arguments: [role = '', name = ''] }) => {
      if (!ROLES.includes(role as Role)) throw usage(`${role} is none of ${ROLES.join(', ')}`)
      const profile = readProfile(profileName())
      if (profile === null) throw usage(`there is no profile ${profileName()}`, 'coffer connect URL')
      writeProfile(profileName(), { ...profile, users: { ...profile.users, [role]: name } })
      output.note(`${role}: ${name}`)
    },
  },
  {
    words: 'profile delete',
    arguments: 'NAME',
    summary: 'Delete the profile of an appliance.',
    example: 'coffer profile delete laboratory',
    run: async ({ output }, { arguments: [name = ''] }) => {
      if (readProfile(name) === null) throw new Failure(EXIT.refused, `there is no profile ${name}`)
      removeProfile(name)
      output.note(`${name} is forgotten`)
    },
  },
  {
    words: 'info',
    summary: 'Show vendor and product.',
    example: 'coffer info',
    run: async ({ open, output }) => output.result(await open().info()),
  },
  {
    words: 'state',
    summary: 'Show the state: Unprovisioned, Locked, Operational or Failed.',
    example: 'coffer state',
    isFirst: true,
    run: async ({ open, output }) => {
      const state = await open().state()
      output.result({ state }, () => state)
    },
  },
  {
    words: 'wait',
    arguments: 'STATE',
    options: { timeout: { value: 'SECONDS', summary: `seconds to wait; default: ${WAIT_SECONDS}` } },
    summary: 'Wait until the appliance is in a state.',
    example: 'coffer wait Operational --timeout 60',
    run: async (context, input) => {
      const [state] = input.arguments
      if (!STATES.includes(state as State)) throw usage(`${state} is none of ${STATES.join(', ')}`)
      await waitFor(context, [state as State], input.number('timeout') ?? WAIT_SECONDS)
    },
  },
  {
    words: 'alive',
    summary: 'Succeed if the appliance is Unprovisioned or Locked.',
    example: 'coffer alive || true',
    run: ({ open }) => open().alive(),
  },
  {
    words: 'ready',
    summary: 'Succeed if the appliance is Operational.',
    example: 'coffer ready',
    run: ({ open }) => open().ready(),
  },
  {
    words: 'provision',
    summary: 'Set up a new appliance: unlock passphrase, passphrase of admin, and time.',
    options: {
      'unlock-passphrase': {
        short: 'u',
        value: '@FILE',
        secret: true,
        summary: 'file with the new unlock passphrase',
      },
      'admin-passphrase': {
        short: 'a',
        value: '@FILE',
        secret: true,
        summary: 'file with the new passphrase of admin',
      },
      'system-time': {
        short: 't',
        value: 'TIME',
        summary: 'time to set (RFC 3339); default: time of this computer',
      },
    },
    example: 'coffer provision',
    isFirst: true,
    run: async ({ open, output, passphrase, remember }, input) => {
      const state = await open().state()
      if (state !== 'Unprovisioned') throw new Failure(EXIT.refused, `the appliance is ${state}`)
      const unlockPassphrase = await passphrase('unlock-passphrase', 'New unlock passphrase', true)
      const adminPassphrase = await passphrase('admin-passphrase', 'New passphrase of admin', true)
      await open().provision({ unlockPassphrase, adminPassphrase, systemTime: timeOf(input.text('system-time')) })
      remember('Administrator', 'admin')
      output.note('Operational. Next: coffer config backup-passphrase --first, coffer user add NAME --role Operator')
    },
  },
  {
    words: 'unlock',
    arguments: '[@FILE]',
    summary: 'Unlock the appliance.',
    example: 'coffer unlock',
    isFirst: true,
    run: async ({ open, passphrase, output, input }) => {
      const [file] = input.arguments
      if (file !== undefined && !file.startsWith('@'))
        throw usage('a passphrase in the arguments is seen by every user of the computer', 'coffer unlock asks for it')
      const what = 'Unlock passphrase'
      const words = await (file === undefined
        ? passphrase('passphrase', what)
        : passphraseFrom({ file: file.slice(1) }, what))
      await open().unlock(words)
      output.note('Operational')
    },
    options: { passphrase: { value: '@FILE', secret: true, summary: 'file with the unlock passphrase' } },
  },
  {
    words: 'lock',
    summary: 'Lock the appliance: remove all keys from its memory.',
    roles: ['Administrator'],
    example: 'coffer lock',
    run: ({ client }) => client().lock(),
  },
]

async function connect(context: CommandContext): Promise<void> {
  const { input, output } = context
  const url = addressOf(input.argument(0))
  const name = input.text('as') ?? context.profileName()
  const known = readProfile(name)
  const endpoint = await acceptPeer(context, url, known, input.text('fingerprint'))
  // What was answered is about this key: the state is asked of nobody else.
  const state = await createClient(createTransport(url, endpoint), async () => null).state()
  const users = known?.url === url ? known.users : {}
  const chat = known?.url === url ? known.chat : undefined
  writeProfile(name, { ...endpoint, users, ...(chat && { chat }) })
  output.note(`${name}: ${url}, ${state}`)
}

/** Looks at the key of `url`, and asks about it unless an authority signs for it, it is `expected`, or `known` has it. */
export async function acceptPeer(
  { input, output }: CommandContext,
  url: string,
  known: KnownPort | null | undefined,
  expected: string | undefined,
): Promise<KnownPort> {
  const ca = input.text('ca')
  const peer = await meet(url, ca === undefined ? {} : { ca })
  if (expected !== undefined && expected !== peer.pin)
    throw new Failure(EXIT.connection, `the key of ${url} is ${peer.pin}, not ${expected}`)
  if (known?.url === url && known.pin !== undefined && known.pin !== peer.pin)
    output.note(`It was ${known.pin} before.`)
  if (!peer.isTrusted && expected === undefined && known?.pin !== peer.pin) {
    output.note(`TLS key ${peer.pin}`)
    if (!(await confirm('Does the appliance’s console show the same?')))
      throw new Failure(EXIT.refused, 'not connected', `without a terminal: --fingerprint ${peer.pin}`)
  }
  if (!peer.isTrusted || expected !== undefined) return { url, pin: peer.pin }
  return { url, ...(ca && { ca }) }
}

/** A connection that fails while it restarts counts as another state. */
export async function waitFor(
  { open, signal, output }: CommandContext,
  states: readonly State[],
  seconds: number,
  after: (state: State | null) => boolean = () => true,
): Promise<State> {
  const { setTimeout } = await import('node:timers/promises')
  const deadline = Date.now() + seconds * 1000
  let seen: State | null = null
  for (;;) {
    try {
      seen = await open().state()
      if (after(seen) && states.includes(seen)) return seen
    } catch (error) {
      const isAway = error instanceof ApiError || (error instanceof Failure && /no connection/.test(error.message))
      if (!isAway) throw error
      seen = null
      after(null)
    }
    if (Date.now() > deadline)
      throw new Failure(
        EXIT.state,
        `after ${seconds} seconds it is ${seen ?? 'not answering'}, not ${states.join(' or ')}`,
      )
    await setTimeout(POLL_MS, undefined, { signal })
    if (process.stderr.isTTY === true) process.stderr.write(`\r\u001b[K${seen ?? 'no answer'}...`)
    else if (seen === 'Failed' && !states.includes('Failed')) output.note('It is Failed')
  }
}

/** As the API takes it. */
export function timeOf(text: string | undefined): string {
  const time = text === undefined ? new Date() : new Date(text)
  if (Number.isNaN(time.getTime())) throw usage(`not a time: ${text}`, 'such as 2026-11-24T12:00:00Z')
  return `${time.toISOString().slice(0, 19)}Z`
}

export async function certain(force: boolean, what: string, word: string): Promise<void> {
  if (force) return
  const answer = ask(`${what} Type ${word} to go on: `)
  if (answer === null) throw usage(`${what} Nobody can be asked here`, '--force does it without asking')
  if ((await answer).trim() !== word) throw new Failure(EXIT.refused, 'nothing was done')
}
