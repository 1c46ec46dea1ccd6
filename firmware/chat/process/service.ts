/** Main loop of the chat process: listens and refuses, opens the organization when the key arrives, serves, wipes the key. */

import { createClock } from '../../base/clock.ts'
import { refuseNativeCode } from '../../base/confinement.ts'
import { CofferError } from '../../base/error.ts'
import { createLog, type Log, writeToConsole } from '../../base/log.ts'
import { exitOnBugs, ignoreSignals, portProblem } from '../../base/process.ts'
import { wipe } from '../../base/secret.ts'
import { type FramedChannel, sendInTurn } from '../../channel/channel.ts'
import type { ToEveryProcess } from '../../channel/protocol.ts'
import { createPool } from '../../crypto/pool/pool.ts'
import type { TlsIdentity } from '../../crypto/tls/identity.ts'
import { toResponse } from '../../http/reply.ts'
import { exchangeOf } from '../../http/server/exchange.ts'
import { listenTls } from '../../http/server/listener.ts'
import { withoutSecrets } from '../../http/server/logged-path.ts'
import { ChatError } from '../base/error.ts'
import type { FromChat, Problem, Start, TlsChallenge, ToChat } from '../link/link.ts'
import type { WebPushSettings } from '../link/web-push.ts'
import { failureReply } from '../pipeline/envelope.ts'
import { forgetExtensions } from '../store/extensions.ts'
import { createAuditReporter } from './audit-reporter.ts'
import { createOrganizations, type OrganizationAsk, type Organizations } from './organizations.ts'
import { createOutgoingRequests } from './outgoing-requests.ts'
import { openPageFiles } from './page-files.ts'

const CONNECTIONS_MAX = 10_000 // clients that poll for events

type Link = FramedChannel<ToChat, FromChat>

/** Ends with `stop`, or when the boot manager or the appliance closes its channel. `program` is the main module. */
export function obey(channel: FramedChannel<ToEveryProcess, { type: 'pong' }>, link: Link, program: URL): void {
  ignoreSignals()
  let service: Promise<Service> | null = null
  let ending = false
  const end = async () => {
    if (ending) return
    ending = true
    await (await service)?.close()
    process.exit(0)
  }
  channel.on('message', ({ type }) => {
    if (type === 'ping') channel.send({ type: 'pong' })
    else void end()
  })
  for (const broken of ['end', 'refused'] as const) {
    channel.on(broken, () => void end())
    link.on(broken, () => void end())
  }
  link.on('message', async (message) => {
    if (message.type === 'start') service ??= start(message.start, link, program)
    else (await service)?.receive(message)
  })
}

interface Service {
  receive(message: Exclude<ToChat, { type: 'start' }>): void
  close(): Promise<void>
}

async function start(start: Start, link: Link, program: URL): Promise<Service> {
  const { host, port, offsetMs } = start
  let { auditGrowthBytes } = start
  let webPush: WebPushSettings | null = null
  const clock = createClock(offsetMs)
  const log = createLog(start.logLevel, (entry) => writeToConsole({ ...entry, source: 'chat' }))
  let isStarting = true
  exitOnBugs(log, () => isStarting)
  const pool = createPool({ workers: 1, entry: workerOf(program), startLater: true })
  forgetExtensions()
  refuseNativeCode()
  const acts = createAuditReporter((message) => link.send(message))
  const requests = createOutgoingRequests(sendInTurn(link))
  let told = Promise.resolve()
  const organizations = createOrganizations({
    directory: start.directory,
    pool,
    clock,
    log,
    record: acts.record,
    post: requests.post,
    push: requests.push,
    webPush: () => webPush,
    auditGrowthBytes: () => auditGrowthBytes,
    keep: (generation, sealed) => {
      told = new Promise((sent) => link.send({ type: 'commits', generation, sealed }, sent))
    },
  })
  const page = openPageFiles({
    file: pageOf(program),
    realmName: () => organizations.name,
    timeS: () => clock.now() / 1000,
    log,
  })
  let identity: TlsIdentity = identityFrom(start)
  let challenges: TlsChallenge[] = []
  isStarting = false // requests may arrive from here on
  const listener = await listenTls({
    app: {
      fetch: (request, env) =>
        page?.answer(exchangeOf({ env, req: { raw: request } })) ??
        organizations.current?.api.fetch(request, env) ??
        toResponse(notReady(log)),
    },
    host,
    port,
    identity: () => identity,
    log,
    now: clock.now,
    limits: { connectionsMax: CONNECTIONS_MAX },
    withoutSecrets,
    challengeFor: (serverName) => {
      const challenge = challenges.find((one) => one.serverName === serverName)
      return challenge && identityFrom(challenge)
    },
  }).catch((error) => refuse(link, error))
  link.send({ type: 'listening', port: listener.port })
  log.info('chat', `listening at port ${listener.port}`)

  let turn = Promise.resolve()
  return {
    receive(message) {
      switch (message.type) {
        case 'identity':
          wipe(identity.key)
          identity = identityFrom(message)
          listener.renewIdentity()
          break
        case 'time':
          clock.set(clock.now() - clock.offsetMs + message.offsetMs)
          break
        case 'auditGrowth':
          auditGrowthBytes = message.bytes
          break
        case 'webPush':
          webPush = message.settings
          break
        case 'close':
          organizations.close()
          break
        case 'recorded':
          acts.hear(message)
          break
        case 'response':
          requests.hear(message)
          break
        case 'ask': {
          const { id, ask } = message
          if (ask.do === 'challenges') {
            for (const { key } of challenges) wipe(key)
            challenges = ask.challenges
            link.send({ type: 'answer', id, problem: null }) // does not wait for others, as an authority would not
            break
          }
          // Sequential, so that an organization is not opened while it is being created.
          turn = turn.then(() => answer(id, ask, organizations, link, log))
        }
      }
    },
    close: async () => {
      organizations.close() // ends the polls, for which the listener would wait
      await listener.close()
      page?.close()
      await pool.close()
      await told // after other pending messages, such as those of a backup
    },
  }
}

async function answer(
  id: number,
  ask: OrganizationAsk,
  organizations: Organizations,
  link: Link,
  log: Log,
): Promise<void> {
  try {
    const value = await organizations.take(ask)
    link.send({ type: 'answer', id, problem: null, ...(value !== undefined && { value }) })
  } catch (error) {
    link.send({ type: 'answer', id, problem: problemOf(error, log) })
  } finally {
    for (const secret of ['chatKey', 'password'] as const)
      if (secret in ask) wipe((ask as unknown as Record<string, Uint8Array>)[secret])
    if (ask.do === 'changeSettings') wipe(ask.changes.jwt?.key)
  }
}

/** Maps errors of the chat's own API for the appliance: its administrator gets the message only. */
function problemOf(error: unknown, log: Log): Problem {
  if (error instanceof CofferError) return { code: error.code, message: error.message }
  if (error instanceof ChatError) return { code: error.status === 404 ? 'notFound' : 'invalid', message: error.message }
  const name = error instanceof Error ? error.name : 'Error'
  const places = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line)) : []
  log.error('chat', `unexpected ${name}: ${places.map((place) => place.trim()).join(', ')}`)
  return { code: 'internal', message: 'The chat has a fault; its log says more' }
}

const notReady = (log: Log) =>
  failureReply(new ChatError('SERVER_NOT_READY', 'The service is not available, try again later'), log)

const identityFrom = ({ key, cert }: { key: Uint8Array; cert: Uint8Array }): TlsIdentity => ({
  key,
  cert: new TextDecoder().decode(cert),
})

const isBundle = (program: URL): boolean => program.pathname.endsWith('.js')

const pageOf = (program: URL): URL | null => (isBundle(program) ? new URL('./chat-page.bin', program) : null)

const workerOf = (program: URL): URL =>
  new URL(isBundle(program) ? './worker.js' : '../../crypto/pool/worker.ts', program)

/** Reports that the port cannot be used. Another start would fail the same way, so the process waits for its end. */
async function refuse(link: Link, error: NodeJS.ErrnoException): Promise<never> {
  const reason = portProblem(error, 'COFFER_CHAT_PORT')
  if (reason === undefined) throw error
  await new Promise<void>((sent) => link.send({ type: 'refused', reason }, sent))
  return new Promise(() => {})
}
