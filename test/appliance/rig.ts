/** An appliance over a temporary directory with a small real domain: notes by name, sealed like any record. */

import { scrypt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Appliance, openAppliance } from '../../firmware/appliance/appliance.ts'
import type { ApplianceOptions } from '../../firmware/appliance/options.ts'
import { CofferError, type ErrorCode } from '../../firmware/base/error.ts'
import { createLog } from '../../firmware/base/log.ts'
import type { CryptoPool, ScryptCost } from '../../firmware/crypto/types.ts'
import type { RecordStore } from '../../firmware/store/store.ts'
import { commit, DEVICE_KEY, text, utf8 } from '../store/rig.ts'

export { DEVICE_KEY, digestDirectory, text, utf8 } from '../store/rig.ts'

export const UNLOCK = utf8('unlock passphrase for tests')
export const ADMIN = utf8('admin passphrase for tests')
export const PROVISIONING = { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTimeMs: Date.UTC(2030, 0, 2) }
const CHEAP: ScryptCost = { N: 16, r: 1, p: 1 }

/** Notes with their names listed at unlock, their contents read on demand, and one counter kept in memory. */
export class Notes {
  readonly names = new Set<string>()
  readonly #records: RecordStore
  counted = 0
  flushes = 0
  closed = false

  constructor(records: RecordStore) {
    this.#records = records
    records.follow('users', (before, after) => {
      if (before !== null) this.names.delete(text(before.value)!)
      if (after !== null) this.names.add(text(after.value)!)
    })
    const counter = records.get('configuration', 'counter')
    if (counter !== null) this.counted = Number(text(counter))
  }

  async write(name: string, content: string): Promise<void> {
    await commit(this.#records, [
      { collection: 'users', name, value: utf8(name) },
      { collection: 'privateKeys', name, value: utf8(content) },
    ])
  }

  async remove(name: string): Promise<void> {
    await commit(this.#records, [
      { collection: 'users', name, value: null },
      { collection: 'privateKeys', name, value: null },
    ])
  }

  read(name: string): string | null {
    return text(this.#records.get('privateKeys', name))
  }

  isDamaged(name: string): boolean {
    return this.#records.isDamaged('users', name)
  }

  flush(): Promise<void> | void {
    this.flushes++
    return commit(this.#records, [{ collection: 'configuration', name: 'counter', value: utf8(String(this.counted)) }])
  }

  close(): void {
    this.closed = true
    this.names.clear()
  }
}

export interface TestPool extends CryptoPool {
  running: number
  runningMax: number
  forgotten: number
  /** Delays each derivation until it resolves. */
  gate: Promise<void>
  tell: (wrong: readonly string[]) => void
}

function createTestPool(): TestPool {
  const unused = (): never => {
    throw new Error('not used by the appliance')
  }
  const pool: TestPool = {
    running: 0,
    runningMax: 0,
    forgotten: 0,
    gate: Promise.resolve(),
    tell: unused,
    sign: unused,
    verify: unused,
    decrypt: unused,
    encrypt: unused,
    encryptRsa: unused,
    generate: unused,
    importRsa: unused,
    importRaw: unused,
    onTested: (listener) => {
      pool.tell = listener
    },
    forget: unused,
    async scrypt(passphrase, salt, { N, r, p }) {
      pool.runningMax = Math.max(pool.runningMax, ++pool.running)
      await pool.gate
      const key = await new Promise<Uint8Array>((resolve, reject) =>
        scrypt(passphrase, salt, 32, { N, r, p, maxmem: 2 ** 28 }, (error, key) =>
          error ? reject(error) : resolve(key),
        ),
      )
      pool.running--
      return new Uint8Array(key)
    },
    forgetAll: () => {
      pool.forgotten++
    },
    close: async () => {},
  }
  return pool
}

export interface Rig {
  directory: string
  pool: TestPool
  /** Messages of the log, oldest first. */
  messages: string[]
  identitiesMade: number
  open(options?: Partial<ApplianceOptions<Notes>>): Promise<Appliance<Notes>>
}

/** Everything opened through the rig is closed, and its directory removed, after the test. */
export function createRig(t: TestContext, directory = mkdtempSync(join(tmpdir(), 'coffer-test-'))): Rig {
  const opened: Appliance<Notes>[] = []
  t.after(() => {
    for (const appliance of opened) appliance.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const rig: Rig = {
    directory,
    pool: createTestPool(),
    messages: [],
    identitiesMade: 0,
    async open(options = {}) {
      const appliance = await openAppliance<Notes>({
        dataDirectory: directory,
        deviceKey: DEVICE_KEY,
        pool: rig.pool,
        log: createLog('debug', ({ message }) => rig.messages.push(message)),
        openDomain: (records) => new Notes(records),
        firstAdministrator: async () => [
          { collection: 'users', name: 'admin', value: utf8('admin') },
          { collection: 'privateKeys', name: 'admin', value: utf8('first') },
        ],
        makeTlsIdentity: () => {
          rig.identitiesMade++
          return { key: utf8(`key ${rig.identitiesMade}`), cert: `chain ${rig.identitiesMade}` }
        },
        unlockCost: CHEAP,
        ...options,
      })
      opened.push(appliance)
      return appliance
    },
  }
  return rig
}

export const hasCode =
  (code: ErrorCode, message?: RegExp) =>
  (error: unknown): boolean =>
    error instanceof CofferError && error.code === code && (message === undefined || message.test(error.message))
