/** The whole application over a temporary store, called without sockets: no headers of the port, no addresses. Passphrases are cheap to derive. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Acme, createAcme, systemTime } from '../../firmware/acme/service.ts'
import { createAlerts } from '../../firmware/alerts/service.ts'
import { type AppOptions, createApp } from '../../firmware/app.ts'
import { type Appliance, openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog, type Log, type LogEntry } from '../../firmware/base/log.ts'
import { createLoginLimiter } from '../../firmware/base/login-limiter.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { CryptoPool, ScryptCost } from '../../firmware/crypto/types.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import type { Role } from '../../firmware/kms/domain/roles.ts'
import { createConnector } from '../../firmware/outgoing/connect.ts'
import type { ProbeAnswer, ProbeJob } from '../../firmware/outgoing/link.ts'
import { probe } from '../../firmware/outgoing/probe.ts'
import { systemNetwork } from '../../firmware/outgoing/resolve.ts'
import { type Client, expect } from './appliance.ts'
import { type Call as AnyCall, contentOf, type Reply, targetOf, toReply } from './client.ts'
import { openPool } from './pool.ts'

export const UNLOCK = 'unlock passphrase'
export const ADMIN = 'admin passphrase'
export const CHEAP: ScryptCost = { N: 16, r: 1, p: 1 }
const DEVICE_KEY = new Uint8Array(32).fill(7)

export interface Call extends Omit<AnyCall, 'body' | 'from' | 'timeoutMs'> {
  /** A name alone has the passphrase that `Rig.user` gave it. */
  as?: string | undefined
  body?: string | Uint8Array | FormData | ReadableStream
}

/** As the process for outgoing connections does. */
function probeHere({ configuration }: Appliance, job: Omit<ProbeJob, 'do'>): Promise<ProbeAnswer> {
  const { proxy, authorities, ...settings } = configuration.outgoing
  const { password, ...place } = proxy ?? { host: '', port: 0 }
  const connector = createConnector(
    {
      ...settings,
      onHost: true,
      authorities: Buffer.from(authorities),
      proxy: proxy && { ...place, ...(password !== undefined && { password: Buffer.from(password) }) },
    },
    systemNetwork({ onHost: true, resolvers: settings.resolvers }),
  )
  return probe(connector, { ...job, do: 'probe' }, new AbortController().signal)
}

/** Reaches no server. */
const acmeOf = (appliance: Appliance, log: Log): Acme =>
  createAcme({
    appliance,
    time: systemTime(appliance.clock.now),
    random: systemRandom,
    log,
    send: undefined,
    answersHttp: true,
    chat: { hasOrganization: () => false, show: async () => {} },
  })

const alertsOf = (appliance: Appliance, acme: Pick<Acme, 'view'>, log: Log) =>
  createAlerts({
    ...{ appliance, acme, log, chat: undefined, outgoing: undefined, forwarder: undefined },
    isRolledBack: false,
    setsClock: false,
    monotonicMs: () => performance.now(),
  })

export class Rig implements Client {
  readonly pool: CryptoPool
  readonly appliance: Appliance
  readonly entries: LogEntry[]
  readonly log: Log
  readonly acme: AppOptions['acme']
  readonly #app: ReturnType<typeof createApp>
  readonly dataDirectory: string
  readonly #passphrases = new Map([['admin', ADMIN]])
  readonly close: () => Promise<void>
  readonly #monotonic: { nowMs: number }

  constructor(
    pool: CryptoPool,
    appliance: Appliance,
    log: Log,
    entries: LogEntry[],
    dataDirectory: string,
    more: Partial<AppOptions>,
    monotonic: { nowMs: number },
  ) {
    this.#monotonic = monotonic
    this.pool = pool
    this.appliance = appliance
    this.entries = entries
    this.log = log
    this.dataDirectory = dataDirectory
    const acme = 'acme' in more ? undefined : acmeOf(appliance, log)
    this.acme = acme ?? more.acme
    const alerts = this.acme && alertsOf(appliance, this.acme, log)
    this.close = async () => {
      alerts?.stop()
      await acme?.close()
      await pool.close()
      await appliance.close()
      rmSync(dataDirectory, { recursive: true, force: true }) // it may be shared by runs
    }
    const info = { vendor: 'Coffer', product: 'Coffer', version: '1.2.3' }
    const releaseKey = new Uint8Array(32)
    const outgoing = { probe: (job: Omit<ProbeJob, 'do'>) => probeHere(appliance, job) }
    this.#app = createApp({ appliance, log, info, releaseKey, outgoing, acme, ...(alerts && { alerts }), ...more })
  }

  /** Clock of the login limiter and of the audit log's budgets. It stands still until it is set. */
  get nowMs(): number {
    return this.#monotonic.nowMs
  }

  set nowMs(nowMs: number) {
    this.#monotonic.nowMs = nowMs
  }

  async call(method: string, path: string, call: Call = {}): Promise<Reply> {
    const response = await this.#request(method, path, call)
    return toReply(`${method} ${path}`, {
      status: response.status,
      reason: response.statusText,
      headers: Object.fromEntries(response.headers),
      bytes: Buffer.from(await response.arrayBuffer()),
    })
  }

  /** Asks, and goes away before anything of the answer has come; returns its status. */
  async leave(method: string, path: string, call: Call = {}): Promise<number> {
    const { status, body } = await this.#request(method, path, call)
    await body?.cancel()
    return status
  }

  async #request(method: string, path: string, { as, body, ...rest }: Call): Promise<Response> {
    const isWhole = typeof body === 'string' || body instanceof Uint8Array
    const call = { ...rest, ...(as !== undefined && { as: this.#credentials(as) }), ...(isWhole && { body }) }
    const { headers, body: content = body } = contentOf(call)
    return this.#app.request(targetOf(path), {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(content !== undefined && { body: content as NonNullable<RequestInit['body']>, duplex: 'half' }),
    })
  }

  async status(method: string, path: string, call?: Call): Promise<number> {
    return (await this.call(method, path, call)).status
  }

  #credentials(as: string): string {
    return as.includes(':') ? as : `${as}:${this.#passphrases.get(as) ?? 'not a passphrase'}`
  }

  async user(id: string, role: Role, as = 'admin'): Promise<void> {
    const passphrase = `passphrase of ${id}`
    this.#passphrases.set(id, passphrase)
    await expect(201, this.call('PUT', `/users/${id}`, { as, json: { realName: id, role, passphrase } }))
  }

  use(id: string, passphrase: string): void {
    this.#passphrases.set(id, passphrase)
  }

  /** Generates an Ed25519 key, whose making takes no time. */
  async key(id: string, more: object = {}, as = 'admin'): Promise<void> {
    const json = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'], ...more }
    await expect(201, this.call('POST', '/keys/generate', { as, json }))
  }
}

/** `cluster`, `etcd`, `readDisk`, `random`, and `nowMs` in place of the rig's own time: what an appliance needs that is not alone. */
interface Parts
  extends Partial<Pick<Parameters<typeof openAppliance>[0], 'cluster' | 'etcd' | 'nowMs' | 'random' | 'readDisk'>> {
  dataDirectory?: string
  pool?: CryptoPool
}

export async function makeRig(
  deviceKey: Uint8Array<ArrayBuffer> | null = DEVICE_KEY,
  more: Partial<AppOptions> = {},
  { dataDirectory = newDirectory(), pool: own, ...cluster }: Parts = {},
): Promise<Rig> {
  const pool = own ?? (await openPool())
  const entries: LogEntry[] = []
  const log = createLog('debug', (entry) => entries.push(entry))
  const monotonic = { nowMs: 0 }
  const appliance = await openAppliance({
    dataDirectory,
    deviceKey,
    pool,
    log,
    openDomain: (records, deps) => openDomain(records, { ...deps, passphraseCost: CHEAP }),
    firstAdministrator: (passphrase, deps) => firstAdministrator(passphrase, { ...deps, passphraseCost: CHEAP }),
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
    unlockCost: CHEAP,
    nowMs: () => monotonic.nowMs,
    ...cluster,
    limiter: createLoginLimiter(() => monotonic.nowMs),
  })
  return new Rig(pool, appliance, log, entries, dataDirectory, more, monotonic)
}

export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'coffer-api-'))

export async function provision(rig: Rig, unlockPassphrase = UNLOCK): Promise<void> {
  const json = { unlockPassphrase, adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' }
  await expect(204, rig.call('POST', '/provision', { json }))
}

/** Provisioned, with users `admin`, `operator`, `metrics` and `backup`; the caller closes it. */
export async function makeOperationalRig(more: Partial<AppOptions> = {}, parts?: Parts): Promise<Rig> {
  const rig = await makeRig(DEVICE_KEY, more, parts)
  await provision(rig)
  await rig.user('operator', 'Operator')
  await rig.user('metrics', 'Metrics')
  await rig.user('backup', 'Backup')
  return rig
}

/** Without a device key it is Failed. */
export const openRig = (
  context: TestContext,
  deviceKey?: Uint8Array<ArrayBuffer> | null,
  more?: Partial<AppOptions>,
): Promise<Rig> => closing(context, makeRig(deviceKey, more))
export const operationalRig = (context: TestContext, more?: Partial<AppOptions>): Promise<Rig> =>
  closing(context, makeOperationalRig(more))

async function closing(context: TestContext, made: Promise<Rig>): Promise<Rig> {
  const rig = await made
  context.after(rig.close)
  return rig
}
