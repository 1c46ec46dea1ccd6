/** Attacks by hosts that somebody lets the appliance connect to: addresses that must not be reached, and hostile answers. Contract section 4.7. */

import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Behavior, endless, says, secured, silent, slow } from './outgoing-servers.ts'
import { type OutgoingTarget, startOutgoingTarget } from './outgoing-target.ts'
import type { Outcome } from './target.ts'

interface OutgoingAttack {
  name: string
  run(target: OutgoingTarget): Promise<Outcome>
}

const MEMORY_MIB_MAX = 192 // idle it takes 45, its heap 48, and four answers of 256 KiB at a time are copied
const MAIL_TEST_EVERY_MS = 10_500 // the appliance refuses the next one for ten seconds
const FORWARDING_MS_MAX = 60_000
const BOMB_BYTES = 128 * 1024 * 1024
const DOMAIN = 'attack.example'

const REFUSED = /nothing is sent to$/
const UNKNOWN = /\((?:ENOTFOUND|EAI_AGAIN)\)$|its name was not resolved/

/** Spellings of loopback, link-local addresses, such as clouds serve credentials at, and others that no server has. */
const SPELLED = [
  ...['127.0.0.1', '127.0.0.2', '127.255.255.254', '127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1'],
  ...['017700000001', '0', '0.0.0.0', 'localhost', 'localhost.', '::1', '0:0:0:0:0:0:0:1', '::'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::'],
  ...['169.254.169.254', '2852039166', '0xa9fea9fe', '::ffff:169.254.169.254', 'fe80::1', 'fec0::1', 'ff02::1'],
  ...['224.0.0.1', '255.255.255.255', '192.0.0.1', '2001:db8::5efe:127.0.0.1'],
]

const PUBLIC = '203.0.113.9' // RFC 5737: stands for a server elsewhere

const NAMES = new Map<string, readonly string[]>([
  ['localhost', ['127.0.0.1', '::1']],
  [`loop.${DOMAIN}`, ['127.0.0.1']],
  [`loop6.${DOMAIN}`, ['::1']],
  [`mapped.${DOMAIN}`, ['::ffff:7f00:1']],
  [`cloud.${DOMAIN}`, ['169.254.169.254']],
  [`both.${DOMAIN}`, [PUBLIC, '127.0.0.1']],
  [`families.${DOMAIN}`, [PUBLIC, '::1']],
])

/** Hosts as URLs spell them; each is listed. */
const spelledUrls = ({ own, trapPort }: OutgoingTarget): string[] =>
  [
    ...['127.0.0.1', '127.0.0.1.', '127.1', '2130706433', '0x7f000001', '0x7f.0.0.1', '0177.0.0.1', '017700000001'],
    ...['①②⑦.⓪.⓪.①', '127%2e0%2e0%2e1', '0', '0.0.0.0', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]'],
    ...['[::127.0.0.1]', '[64:ff9b::7f00:1]', '169.254.169.254', '0xa9fea9fe', '[fe80::1]', ...NAMES.keys()],
    ...own.filter(hasNoZone).map((address) => (address.includes(':') ? `[${address}]` : address)),
  ].map((host) => `http://${host}:${trapPort}/`)

const hasNoZone = (address: string): boolean => !address.startsWith('fe80')

const OK = 'HTTP/1.1 200 OK\r\n'
const bomb = (): Uint8Array => {
  const body = gzipSync(Buffer.alloc(BOMB_BYTES))
  const head = `${OK}Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

/** Answers to a request; a redirect leads to a port that nothing may connect to. */
const ANSWERS: Record<string, (trapPort: number) => Behavior> = {
  body: () => endless(`${OK}\r\n`),
  header: () => endless(OK, `a: ${'x'.repeat(65_536)}\r\n`),
  line: () => endless('HTTP/1.1 200 '),
  chunks: () => endless(`${OK}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(10_000)),
  informational: () => endless('', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1000)),
  redirect: (port) => says(`HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:${port}/\r\nContent-Length: 0\r\n\r\n`),
  garbage: () => says('\x16\x03\x01\x00\x05hello'),
  upgrade: () => says('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  bomb: () => says(bomb()),
  'slow-body': () => slow(`${OK}\r\n`),
  'slow-header': () => slow(OK),
}

/** In the place of TLS, behind the proxy. */
const HANDSHAKES: Record<string, Behavior> = {
  'endless-tls': endless('\x16\x03\x03\x40\x00'),
  'garbage-tls': says('220 mail.example ready\r\n'),
  'slow-tls': slow('\x16\x03\x03\x40\x00'),
  'silent-tls': silent,
}

/** In the place of the proxy's answer. */
const PROXIES: Record<string, Behavior> = {
  'endless-proxy': endless(OK, `a: ${'x'.repeat(65_536)}\r\n`),
  'garbage-proxy': says('SSH-2.0-proxy\r\n'),
  'slow-proxy': slow(OK),
  'silent-proxy': silent,
}

const inDomain = <T>(kinds: Record<string, T>): Map<string, T> =>
  new Map(Object.entries(kinds).map(([name, kind]) => [`${name}.${DOMAIN}`, kind]))

const NETWORK = {
  names: NAMES,
  answers: inDomain(ANSWERS),
  handshakes: inDomain(HANDSHAKES),
  proxies: inDomain(PROXIES),
}

/** Holds if each problem is as it must be. */
function judge(
  problems: ReadonlyMap<string, string | null>,
  isHeld: (problem: string, what: string) => boolean,
): Outcome {
  const wrong = [...problems].filter(([what, problem]) => problem === null || !isHeld(problem, what))
  const figures = wrong.map(([what, problem]) => `${what}: ${problem ?? 'it worked'}`).join('; ')
  return { held: wrong.length === 0 && problems.size > 0, figures: figures || `${problems.size} refused` }
}

const isRefused = (problem: string): boolean => REFUSED.test(problem) || problem === 'status 400'

/** One after the other. */
async function each<T>(
  list: readonly T[],
  run: (one: T) => Promise<string | null>,
): Promise<Map<string, string | null>> {
  const problems = new Map<string, string | null>()
  for (const one of list) problems.set(String(one), await run(one))
  return problems
}

const spelled: OutgoingAttack = {
  name: 'outgoing: spellings of addresses of this computer, by the test of connections',
  run: async (target) => {
    const { own, trapPort } = target
    const mapped = own.filter((address) => !address.includes(':')).map((address) => `::ffff:${address}`)
    const hosts = [...SPELLED, ...own.filter(hasNoZone), ...mapped]
    const problems = await each(hosts, (host) => target.probe(host, trapPort, false))
    return judge(problems, (problem) => isRefused(problem) || UNKNOWN.test(problem))
  },
}

const testedNames: OutgoingAttack = {
  name: 'outgoing: names that lead to this computer, by the test of connections',
  run: async (target) =>
    judge(await each([...NAMES.keys()], (name) => target.probe(name, target.trapPort, false)), isRefused),
}

const testedAnswers: OutgoingAttack = {
  name: 'outgoing: a handshake or a proxy without end, by the test of connections',
  run: async (target) => {
    const hosts = [...NETWORK.handshakes.keys(), ...NETWORK.proxies.keys()]
    const problems = await Promise.all(hosts.map(async (host) => [host, await target.probe(host, 443, true)] as const))
    return judge(new Map(problems), (problem, host) => problem.startsWith('Cannot connect: ') && target.isReached(host))
  },
}

const webhooks: OutgoingAttack = {
  name: 'outgoing: addresses of this computer and hostile answers, by webhooks of the chat',
  run: async (target) => {
    const addresses = spelledUrls(target)
    const hostile = [...NETWORK.answers.keys()].map((host) => `https://${host}/`)
    const problems = await target.webhooks([...addresses, ...hostile])
    const of = (urls: readonly string[]) => new Map(urls.map((url) => [url, problems.get(url) ?? null]))
    const [first, second] = [
      judge(of(addresses), isRefused),
      judge(of(hostile), (_, url) => target.isReached(new URL(url).hostname)),
    ]
    return { held: first.held && second.held, figures: `addresses: ${first.figures}; answers: ${second.figures}` }
  },
}

/** The slow one comes first, since it lasts a minute. */
const MAIL_SERVERS: [behave: Behavior, security: 'none' | 'tls'][] = [
  [slow('220 '), 'none'],
  [endless('220-', `${'x'.repeat(1000)}\r\n220-`), 'none'],
  [endless(''), 'tls'],
]

const mail: OutgoingAttack = {
  name: 'outgoing: addresses of this computer and hostile answers, by mail',
  run: async (target) => {
    const { listen, trapPort } = target
    const hostile = await Promise.all(
      MAIL_SERVERS.map(async ([behave, security]) => ({ server: '127.0.0.1', port: await listen(behave), security })),
    )
    const refused = ['127.0.0.2', '::ffff:127.0.0.1', `loop.${DOMAIN}`]
    const elsewhere = refused.map((server) => ({ server, port: trapPort, security: 'tls' }))
    const waiting: Promise<[string, string | null]>[] = []
    for (const settings of [...hostile, ...elsewhere]) {
      const from = { from: 'coffer@example.org', to: ['admin@example.org'] }
      const status = await target.configure('/config/mail', { ...settings, ...from })
      if (status !== 204) throw new Error(`The mail server ${settings.server} is answered with ${status}`)
      waiting.push(target.testMail().then((problem) => [`${settings.server}:${settings.port}`, problem]))
      await wait(MAIL_TEST_EVERY_MS)
    }
    const problems = new Map(await Promise.all(waiting))
    await target.configure('/config/mail', { server: null })
    const outcome = judge(problems, (problem) => !problem.startsWith('status '))
    const held =
      refused.every((server) => REFUSED.test(problems.get(`${server}:${trapPort}`) ?? '')) &&
      hostile.every(({ port }) => target.isReached(String(port)))
    return { ...outcome, held: outcome.held && held }
  },
}

const logs: OutgoingAttack = {
  name: 'outgoing: addresses of this computer and hostile answers, by a log server',
  run: async (target) => {
    const { listen, own, trapPort, identity } = target
    const servers = [...['127.0.0.2', '169.254.169.254', '::ffff:7f00:1', `loop.${DOMAIN}`, ...own.filter(hasNoZone)]]
    const forwardTo = async (server: string, port: number): Promise<string | null> => {
      const status = await target.configure('/config/syslog', { server, port })
      if (status !== 204) return `status ${status}`
      for (const endMs = performance.now() + FORWARDING_MS_MAX; performance.now() < endMs; await wait(200)) {
        const { state, problem } = await target.forwarding()
        if (state === 'connected') return null
        if (problem !== undefined) return problem
      }
      return 'no problem in a minute'
    }
    const refused = await each(servers, (server) => forwardTo(server, trapPort))
    const ports = await Promise.all(
      [endless(''), slow('\x16\x03\x03\x40\x00'), resetAfter(5000, secured(identity, endless('')))].map(listen),
    )
    const hostile = await each(ports, (port) => forwardTo('localhost', port))
    const { confirmed } = await target.forwarding()
    await target.configure('/config/syslog', { server: null })
    const [first, second] = [
      judge(refused, (problem) => isRefused(problem) || UNKNOWN.test(problem)),
      judge(hostile, (problem, port) => problem.startsWith('Cannot forward: ') && target.isReached(port)),
    ]
    return {
      held: first.held && second.held && confirmed === 0,
      figures: `addresses: ${first.figures}; answers: ${second.figures}, ${confirmed} lines confirmed`,
    }
  },
}

/** Resets the connection after that time, so that no end of it confirms what it was sent. */
const resetAfter =
  (ms: number, behave: Behavior): Behavior =>
  (socket) => {
    behave(socket)
    setTimeout(() => (socket as Socket).resetAndDestroy(), ms).unref()
  }

/** During the attack the appliance goes on signing, connects to nobody on this computer, and no process ends. */
async function whileSigning({ run }: OutgoingAttack, target: OutgoingTarget): Promise<Outcome> {
  const before = { ...target.signed }
  const { held, figures } = await run(target)
  const [done, failed] = [target.signed.done - before.done, target.signed.failed - before.failed]
  const [trapped, mib, isWhole] = [target.trapped(), target.residentMib(), await target.isWhole()]
  return {
    held: held && done > 0 && failed === 0 && trapped === 0 && mib > 0 && mib < MEMORY_MIB_MAX && isWhole,
    figures: `${figures}; ${trapped} connections, ${done} signatures, ${failed} failed, ${mib.toFixed(0)} MiB${isWhole ? '' : ', a process has ended'}`,
  }
}

/** Each list runs beside the others: hostile servers are slow. */
const BESIDE = [[webhooks], [testedNames, testedAnswers], [mail], [logs]]

export async function attackOutgoing(
  programs: string,
  directory: string,
  attempt: (name: string, run: () => Promise<Outcome>) => Promise<void>,
): Promise<void> {
  const target = await startOutgoingTarget(programs, directory, NETWORK)
  const attack = (one: OutgoingAttack) => attempt(one.name, () => whileSigning(one, target))
  try {
    await attack(spelled) // names are the system's until now
    await target.useNetwork()
    await Promise.all(
      BESIDE.map(async (list) => {
        for (const one of list) await attack(one)
      }),
    )
  } finally {
    await target.stop()
  }
}
