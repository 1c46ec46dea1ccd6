/** The domain over a real sealed store and a real pool; derivations are counted and cheap. */

import type { TestContext } from 'node:test'
import { createClock } from '../../../firmware/base/clock.ts'
import { CofferError } from '../../../firmware/base/error.ts'
import { createLog, type LogEntry } from '../../../firmware/base/log.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../../../firmware/crypto/types.ts'
import type { NewKey } from '../../../firmware/kms/domain/keys.ts'
import { firstAdministrator, type Operational, openDomain } from '../../../firmware/kms/domain/operational.ts'
import type { Caller, Role } from '../../../firmware/kms/domain/roles.ts'
import type { RecordStore, StoreFile } from '../../../firmware/store/store.ts'
import type { Vault } from '../../../firmware/store/vault.ts'
import { commit, createStoreRig, type StoreRig, utf8 } from '../../store/rig.ts'

export const CHEAP: ScryptCost = { N: 16, r: 1, p: 1 }
export const ADMIN = 'admin passphrase'
export const admin: Caller = { userId: 'admin', namespace: '', role: 'Administrator' }

export interface DomainRig {
  store: StoreFile
  storeRig: StoreRig
  readonly vault: Vault
  domain: Operational
  entries: LogEntry[]
  derivations: ScryptCost[]
  nowMs: number
  fail(failing: boolean): void
  /** As a lock and an unlock do it; `prepare` runs between. `member`: the node that counts operations from then on. */
  reopen(prepare?: () => void, member?: string): Operational
}

export async function createDomainRig(t: TestContext, pool: CryptoPool): Promise<DomainRig> {
  const storeRig = createStoreRig(t)
  const store = storeRig.open()
  const entries: LogEntry[] = []
  const derivations: ScryptCost[] = []
  let failing = false
  let vault: Vault | undefined
  const counting: CryptoPool = {
    ...pool,
    scrypt: (passphrase, salt, cost) => {
      derivations.push(cost)
      return pool.scrypt(passphrase, salt, cost)
    },
  }
  const deps = {
    pool: counting,
    random: systemRandom,
    log: createLog('debug', (entry) => entries.push(entry)),
    clock: createClock(),
    passphraseCost: CHEAP,
    monotonicMs: () => rig.nowMs,
  }
  const open = (member = ''): Operational => {
    vault = storeRig.vault(store)
    const opened = vault
    const records: RecordStore = {
      ...opened,
      change: async (decide) => {
        if (failing) throw new CofferError('storage', 'The disk is full')
        return opened.change(decide)
      },
    }
    return openDomain(records, { ...deps, member, deriveKey: () => new Uint8Array(32) })
  }
  await commit(storeRig.vault(store), await firstAdministrator(utf8(ADMIN), deps))
  derivations.length = 0
  const rig: DomainRig = {
    store,
    storeRig,
    get vault() {
      return vault!
    },
    domain: open(),
    entries,
    derivations,
    nowMs: 0,
    fail: (value) => {
      failing = value
    },
    reopen: (prepare, member) => {
      void rig.domain.flush()
      vault?.settle()
      rig.domain.close()
      vault?.close()
      prepare?.()
      rig.domain = open(member)
      return rig.domain
    },
  }
  return rig
}

export const newUser = (passphrase: string, role: Role = 'Operator') => ({
  realName: 'Someone',
  role,
  passphrase: utf8(passphrase),
})

export const ED25519: NewKey = { mechanisms: ['EdDSA_Signature'], tags: [], label: '' }

export const code = (expected: string) => (error: unknown) =>
  error instanceof CofferError && (error.code === expected || `expected ${expected}, not ${error.code}`) === true
