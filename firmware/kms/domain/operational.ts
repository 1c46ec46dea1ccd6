/** The domain while the appliance is Operational: users, namespaces and keys of an open store. */

import type { QueuePriority } from '../../base/fair-queue.ts'
import type { Random } from '../../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../../crypto/types.ts'
import { AccessKeys } from './access-keys.ts'
import type { RecordChange, Records } from './collections.ts'
import { createContext, type DomainDeps } from './context.ts'
import { Credentials } from './credentials.ts'
import { KeyUse } from './key-use.ts'
import { Keys } from './keys.ts'
import { NamespaceQuotas } from './namespace-quotas.ts'
import { Namespaces } from './namespaces.ts'
import { digestPassphrase, PASSPHRASE_COST } from './passphrase.ts'
import type { Caller } from './roles.ts'
import { TOKEN_PURPOSE, Tokens } from './tokens.ts'
import { encodeUser } from './user-record.ts'
import { Users } from './users.ts'

export type { DomainDeps } from './context.ts'

export interface Operational {
  users: Users
  namespaces: Namespaces
  quotas: NamespaceQuotas
  keys: Keys
  keyUse: KeyUse
  tokens: Tokens
  accessKeys: AccessKeys
  /**
   * Returns null for an unknown user or a wrong passphrase. Answers at once for remembered credentials. `passphrase` may be wiped when this
   * returns.
   */
  authenticate(userId: string, passphrase: Uint8Array, place?: QueuePriority): Caller | Promise<Caller | null>
  recall(userId: string, passphrase: Uint8Array): Caller | null
  /** Stores the counts of operations. All writes begin in this turn, or, if `slowly`, a few records at a time. */
  flush(slowly?: boolean): Promise<void>
  /** Wipes remembered credentials. Running operations end with `unavailable` and change nothing. */
  close(): void
}

interface OpenDeps extends DomainDeps {
  /** Derives a key from the domain key. */
  deriveKey(purpose: string): Uint8Array
}

export function openDomain(records: Records, deps: OpenDeps): Operational {
  let open = true
  const context = createContext(records, deps, () => open)
  const namespaces = new Namespaces(context)
  const quotas = new NamespaceQuotas(context, namespaces)
  const users = new Users(context, namespaces, quotas)
  const keys = new Keys(context, namespaces, quotas)
  namespaces.goOnRemoving(keys)
  const keyUse = new KeyUse(context, deps.clock, users, keys)
  const credentials = new Credentials(context, users)
  const tokens = new Tokens(context, users, deps.deriveKey(TOKEN_PURPOSE))
  const accessKeys = new AccessKeys(context, users, tokens)
  return {
    users,
    namespaces,
    quotas,
    keys,
    keyUse,
    tokens,
    accessKeys,
    authenticate: (userId, passphrase, place) => credentials.verify(userId, passphrase, place),
    recall: (userId, passphrase) => credentials.recall(userId, passphrase),
    flush: (slowly = false) => keys.storeCounts(slowly),
    close: () => {
      open = false
      credentials.close()
      tokens.close()
    },
  }
}

const FIRST_ADMINISTRATOR = 'admin' // id and real name; contract section 5 row 28

export async function firstAdministrator(
  adminPassphrase: Uint8Array,
  deps: { pool: CryptoPool; random: Random; passphraseCost?: ScryptCost },
): Promise<RecordChange[]> {
  const passphrase = await digestPassphrase(
    adminPassphrase,
    deps.passphraseCost ?? PASSPHRASE_COST,
    deps.pool,
    deps.random,
  )
  const value = encodeUser({
    id: FIRST_ADMINISTRATOR,
    realName: FIRST_ADMINISTRATOR,
    role: 'Administrator',
    tags: [],
    passphrase,
    accessKeys: [],
    revocations: [],
  })
  return [{ collection: 'users', name: FIRST_ADMINISTRATOR, value }]
}
