/** A whole Coffer with its chat, as a host runs it, whose key signs all the time; and ways to have it connect to others. */

import { mkdirSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../firmware/base/defined.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity, type TlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { type Account, ask, keyOf, makeOrganization, reach } from '../../test/chat/support/process.ts'
import { ADMIN, expect, provision } from '../../test/support/appliance.ts'
import { childrenOf, commandLineOf, residentBytes } from '../../test/support/proc.ts'
import { type Coffer, type Ending, startCoffer } from '../../test/support/process.ts'
import { type Behavior, proxyTo, secured, serve, serveNames } from './outgoing-servers.ts'
import { OPERATOR, SIGN } from './target.ts'

const SIGN_EVERY_MS = 50
const NOTICES_EVERY_MS = 2000 // the chat answers an account 200 times a minute
const NOTICES_MAX = 200
const WEBHOOK_BOT = '3'
const OWN_MAX = 4 // addresses of this computer: the log server takes seconds for each

/** Why the appliance did not do it, or null if it did. */
type Problem = string | null

export interface OutgoingTarget {
  /** On all addresses of this computer; nothing may ever connect to it. */
  readonly trapPort: number
  trapped(): number
  /** Addresses of this computer but loopback. */
  readonly own: readonly string[]
  /** Signatures since the start, and those that failed. */
  readonly signed: { readonly done: number; readonly failed: number }
  /** The most that the process for outgoing connections was seen to take. */
  residentMib(): number
  /** True if firmware and process for outgoing connections are still those that were started first. */
  isWhole(): Promise<boolean>
  /** Returns the status. */
  configure(path: string, json: object): Promise<number>
  /** From now on names are resolved, and https is reached, by servers of this program. */
  useNetwork(): Promise<void>
  /** A further server of 127.0.0.1; returns its port. */
  listen(behave: Behavior): Promise<number>
  /** True if the appliance has come to the hostile behavior of this host, or of this port of `listen`. */
  isReached(hostOrPort: string): boolean
  /** The servers with TLS have it, and `localhost` may, too. */
  readonly identity: TlsIdentity
  probe(host: string, port: number, tls: boolean): Promise<Problem>
  /** Each is called by a bot of its own; returns why, by URL. */
  webhooks(urls: readonly string[]): Promise<ReadonlyMap<string, string>>
  testMail(): Promise<Problem>
  forwarding(): Promise<{ state: string; confirmed: number; problem?: string }>
  stop(): Promise<void>
}

interface HostileNetwork {
  /** Addresses of names. */
  names: ReadonlyMap<string, readonly string[]>
  /** Behind the proxy, within TLS. The port is one that nothing may connect to. */
  answers: ReadonlyMap<string, (trapPort: number) => Behavior>
  /** Behind the proxy, in the place of TLS. */
  handshakes: ReadonlyMap<string, Behavior>
  /** In the place of the proxy's answer. */
  proxies: ReadonlyMap<string, Behavior>
}

/** `directory` gets its data. */
export async function startOutgoingTarget(
  programs: string,
  directory: string,
  { names, answers, handshakes, proxies }: HostileNetwork,
): Promise<OutgoingTarget> {
  const ends: (() => unknown)[] = []
  const t = { after: (end: () => unknown) => void ends.push(end) } as Ending
  mkdirSync(directory)
  const settings = { COFFER_CHAT_PORT: '0' }
  const coffer = startCoffer(null, { program: join(programs, 'boot.js'), data: directory, settings })
  await provision(coffer)
  await makeOrganization(coffer)
  const chatPort = defined((await reach(coffer, 'running')).port)
  const owner = await keyOf(chatPort)
  await makeSigner(coffer)

  let trapped = 0
  const trap: Behavior = (socket) => {
    trapped++
    socket.destroy()
  }
  const trapPort = await serve(t, trap, null)
  const identity = await makeTlsIdentity(systemRandom, 'localhost', ['localhost', ...answers.keys()])
  const reached = new Set<string>()
  const noting =
    (host: string, behave: Behavior): Behavior =>
    (socket) => {
      reached.add(host)
      behave(socket)
    }
  const secure = [...answers].map(
    ([host, answer]) => [host, secured(identity, noting(host, answer(trapPort)))] as const,
  )
  const noted = (behaviors: ReadonlyMap<string, Behavior>) =>
    [...behaviors].map(([host, behave]) => [host, noting(host, behave)] as const)
  const proxyPort = await serve(t, proxyTo(new Map([...secure, ...noted(handshakes)]), new Map(noted(proxies))))
  const namesPort = await serveNames(t, names)

  const put = async (path: string, json: object) => (await coffer.call('PUT', path, { as: ADMIN, json })).status
  const post = async (path: string, json?: object) => {
    const reply = await coffer.call('POST', path, { as: ADMIN, ...(json && { json }), timeoutMs: 120_000 })
    return reply.status === 200 ? (reply.json<{ problem?: string }>().problem ?? null) : `status ${reply.status}`
  }
  await post('/config/outgoing/test', { host: '127.0.0.1', port: trapPort, tls: false }) // starts the process
  const outgoing = outgoingPid(coffer)
  const firmware = await coffer.firmwarePid()
  const signing = signContinuously(coffer, () => residentBytes(outgoing))

  return {
    trapPort,
    trapped: () => trapped,
    own: Object.values(networkInterfaces())
      .flatMap((found) => (found ?? []).filter(({ internal }) => !internal).map(({ address }) => address))
      .slice(0, OWN_MAX),
    identity,
    async listen(behave) {
      const port: number = await serve(t, (socket) => noting(String(port), behave)(socket))
      return port
    },
    isReached: (hostOrPort) => reached.has(hostOrPort),
    signed: signing,
    residentMib: () => signing.residentBytes / 1024 ** 2,
    isWhole: async () => (await coffer.firmwarePid()) === firmware && childrenOf(coffer.bootPid()).includes(outgoing),
    configure: put,
    async useNetwork() {
      const proxy = { host: 'localhost', port: proxyPort }
      const json = { resolvers: [`127.0.0.1:${namesPort}`], proxy, authorities: identity.cert }
      await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json }))
    },
    probe: (host, port, tls) => post('/config/outgoing/test', { host, port, tls }),
    async webhooks(urls) {
      const outgoingHosts = [...new Set(urls.map((url) => new URL(url).host))]
      await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { outgoingHosts } }))
      return callWebhooks(chatPort, owner, urls)
    },
    testMail: () => post('/config/mail/test'),
    forwarding: async () => (await coffer.call('GET', '/config/syslog', { as: ADMIN })).json(),
    async stop() {
      await signing.stop()
      await coffer.stop()
      for (const end of ends) end()
    },
  }
}

const outgoingPid = (coffer: Coffer): number =>
  defined(childrenOf(coffer.bootPid()).find((pid) => commandLineOf(pid).includes('/outgoing.js')))

async function makeSigner(coffer: Coffer): Promise<void> {
  const [id = '', passphrase] = OPERATOR.split(':')
  const operator = { realName: id, role: 'Operator', passphrase }
  await expect(201, coffer.call('PUT', `/users/${id}`, { as: ADMIN, json: operator }))
  const key = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], id: 'ed' }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
}

function signContinuously(coffer: Coffer, measure: () => number) {
  let isOver = false
  const signing = { done: 0, failed: 0, residentBytes: 0 }
  const running = (async () => {
    while (!isOver) {
      const reply = await coffer.call('POST', '/keys/ed/sign', { as: OPERATOR, json: SIGN }).catch(() => null)
      signing[reply?.status === 200 ? 'done' : 'failed']++
      try {
        signing.residentBytes = Math.max(signing.residentBytes, measure())
      } catch {} // it has ended, which isWhole tells
      await wait(SIGN_EVERY_MS)
    }
  })()
  return Object.assign(signing, {
    stop: () => {
      isOver = true
      return running
    },
  })
}

let bots = 0

async function callWebhooks(port: number, as: Account, urls: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const urlOf = new Map<string, string>()
  for (const url of urls) {
    const name = `attacked-${++bots}`
    const form = { full_name: name, short_name: name, bot_type: WEBHOOK_BOT, payload_url: JSON.stringify(url) }
    const { status, body } = await ask(port, 'POST', '/bots', { as, form })
    if (status !== 200) throw new Error(`No bot for ${url}: ${JSON.stringify(body)}`)
    urlOf.set(name, url)
    const message = { type: 'direct', to: JSON.stringify([body.user_id]), content: 'x' }
    await ask(port, 'POST', '/messages', { as, form: message })
  }
  const found = new Map<string, string>()
  while (found.size < urls.length) {
    await wait(NOTICES_EVERY_MS)
    for (const [, name = '', problem = ''] of (await newestNotices(port, as)).matchAll(NOTICE)) {
      const url = urlOf.get(name)
      if (url !== undefined) found.set(url, problem)
    }
  }
  return found
}

/** As firmware/chat/outgoing/bot-calls.ts writes it. */
const NOTICE = /^A message to your bot @_\*\*([^*|]+)[^*]*\*\* was not answered: (.*)\.$/gm

async function newestNotices(port: number, as: Account): Promise<string> {
  const form = { anchor: 'newest', num_before: `${NOTICES_MAX}`, num_after: '0', narrow: '[["is", "dm"]]' }
  const { body } = await ask(port, 'GET', '/messages', { as, form: { ...form, apply_markdown: 'false' } })
  return (body.messages as { content: string }[]).map(({ content }) => content).join('\n')
}
