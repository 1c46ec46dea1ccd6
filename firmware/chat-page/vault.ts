/**
 * The database of this browser, only if the session is remembered: drafts and outgoing messages, and the state and messages for starts
 * without the server, all encrypted. It ends with the session, and after `page_offline_days` without an answer of the server. An
 * attacker who can read the browser's profile on disk can use the key. `chat/CONTRACT.md`, section 2.6.
 */

import { answered, createSealKeys, openSealedStore, type SealedStore, type SealKeys } from './sealed-store.ts'

const DATABASE = 'coffer-chat'
const VERSION = 2
const KEYS = 'keys'
const TEXTS = 'records'
const CACHE = 'cache'
const KEYS_ROW = 0
const LEASE_ROW = 1
const LOCK = 'coffer-chat vault'
const DAY_MS = 86_400_000
const DAYS_UNTIL_TOLD = 1 // until the first answer of the server

interface OwnKeys extends SealKeys {
  /** Random. Tells this vault from those of earlier and later sign-ins. */
  vaultId: string
  userId: number
}

/** How long the vault may stay without an answer of the server. */
interface Lease {
  days: number
  answeredMs: number
}

export interface PageVault {
  readonly id: string
  readonly userId: number
  /** Drafts and outgoing messages. */
  readonly texts: SealedStore
  /** Copies of what the server has. */
  readonly cache: SealedStore
  /** True after another tab has signed in or out. */
  readonly isClosed: boolean
  /** Reads the lease: another tab may have renewed it. */
  isOver(): Promise<boolean>
  renew(lease: Lease): Promise<void>
  close(): void
}

/** Null if this browser has no vault, or if its days are over. */
export async function openVault(): Promise<PageVault | null> {
  if (!(await hasVault())) return null
  const database = await openDatabase()
  const [keys, lease] = await Promise.all([readKeys(database), readLease(database)])
  if (keys !== undefined && !isOver(lease)) return vaultOf(database, keys)
  database.close()
  await destroyVaultOf(keys?.vaultId ?? null)
  return null
}

/** Replaces the vault of an earlier sign-in. */
export async function createVault(userId: number): Promise<void> {
  const keys: OwnKeys = { vaultId: crypto.randomUUID(), userId, ...(await createSealKeys()) }
  await exclusively(async () => {
    await destroy()
    const lease: Lease = { days: DAYS_UNTIL_TOLD, answeredMs: Date.now() }
    const database = await openDatabase()
    const rows = rowsOf(database, 'readwrite')
    await Promise.all([answered(rows.put(keys, KEYS_ROW)), answered(rows.put(lease, LEASE_ROW))])
    database.close()
  })
}

export const destroyVault = (): Promise<void> => exclusively(destroy)

/** Deletes the vault with that id, but not one of another sign-in. Returns true if none is left. */
export const destroyVaultOf = (id: string | null): Promise<boolean> =>
  exclusively(async () => {
    if (!(await hasVault())) return true
    const database = await openDatabase()
    const keys = await readKeys(database).finally(() => database.close())
    if (keys !== undefined && keys.vaultId !== id) return false
    await destroy()
    return true
  })

/** Another tab may sign in at the same time: it must not lose its vault between a check and the deletion. */
const exclusively = <T>(act: () => Promise<T>): Promise<T> => navigator.locks.request(LOCK, act)

const hasVault = async (): Promise<boolean> => (await indexedDB.databases()).some(({ name }) => name === DATABASE)

async function destroy(): Promise<void> {
  await answered(indexedDB.deleteDatabase(DATABASE))
}

const rowsOf = (database: IDBDatabase, mode: IDBTransactionMode = 'readonly'): IDBObjectStore =>
  database.transaction(KEYS, mode).objectStore(KEYS)

const readKeys = (database: IDBDatabase): Promise<OwnKeys | undefined> => answered(rowsOf(database).get(KEYS_ROW))

const readLease = (database: IDBDatabase): Promise<Lease | undefined> => answered(rowsOf(database).get(LEASE_ROW))

const isOver = (lease: Lease | undefined): boolean =>
  lease === undefined || Date.now() - lease.answeredMs >= lease.days * DAY_MS

async function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, VERSION)
  request.onupgradeneeded = () => {
    const { objectStoreNames: stores } = request.result
    for (const name of [KEYS, TEXTS, CACHE]) if (!stores.contains(name)) request.result.createObjectStore(name)
  }
  const database = await answered(request)
  database.onversionchange = () => database.close()
  return database
}

function vaultOf(database: IDBDatabase, keys: OwnKeys): PageVault {
  let isClosed = false
  function close(): void {
    isClosed = true
    database.close()
  }
  database.onversionchange = close
  database.onclose = close // the browser has deleted it
  return {
    id: keys.vaultId,
    userId: keys.userId,
    texts: openSealedStore(database, TEXTS, keys),
    cache: openSealedStore(database, CACHE, keys),
    get isClosed() {
      return isClosed
    },
    isOver: async () => isOver(await readLease(database)),
    async renew(lease) {
      await answered(rowsOf(database, 'readwrite').put(lease, LEASE_ROW))
    },
    close,
  }
}
