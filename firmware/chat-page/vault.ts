/**
 * Stores drafts and outgoing messages, encrypted, in the browser's database, only if the session is remembered. AES-GCM with a
 * key that scripts cannot export. Record names are keyed hashes and are authenticated with their values. An attacker who can read
 * the browser's profile on disk can use the key.
 */

const DATABASE = 'coffer-chat'
const KEYS = 'keys'
const RECORDS = 'records'
const IV_BYTES = 12

interface Keys {
  userId: number
  seal: CryptoKey
  names: CryptoKey
}

interface SealedRecord {
  iv: Uint8Array<ArrayBuffer>
  sealed: ArrayBuffer
}

export interface TextVault {
  readonly userId: number
  /** Omits values that cannot be decrypted. */
  all(): Promise<[name: string, value: unknown][]>
  /** Resolves once the value is on disk. Of several waiting values only the last is written; undefined removes. */
  put(name: string, value: unknown): Promise<void>
  close(): void
}

/** Null if this browser has no vault. */
export async function openVault(): Promise<TextVault | null> {
  if (!(await indexedDB.databases()).some(({ name }) => name === DATABASE)) return null
  const database = await openDatabase()
  const keys = await answered<Keys | undefined>(database.transaction(KEYS).objectStore(KEYS).get(0))
  if (keys !== undefined) return vaultOf(database, keys)
  database.close()
  return null
}

export async function createVault(userId: number): Promise<void> {
  await destroyVault()
  const keys: Keys = {
    userId,
    seal: await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
    names: await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
  }
  const database = await openDatabase()
  await answered(database.transaction(KEYS, 'readwrite').objectStore(KEYS).put(keys, 0))
  database.close()
}

export async function destroyVault(): Promise<void> {
  await answered(indexedDB.deleteDatabase(DATABASE))
}

const answered = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

async function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1)
  request.onupgradeneeded = () => {
    request.result.createObjectStore(KEYS)
    request.result.createObjectStore(RECORDS)
  }
  const database = await answered(request)
  database.onversionchange = () => database.close() // another tab signs in or out
  return database
}

function vaultOf(database: IDBDatabase, { userId, seal, names }: Keys): TextVault {
  const waiting = new Map<string, unknown>()
  let writing: Promise<void> | null = null

  const nameOf = async (name: string): Promise<ArrayBuffer> => crypto.subtle.sign('HMAC', names, encode(name))

  async function write(): Promise<void> {
    await null // lets `writing` be set first
    try {
      while (waiting.size > 0) {
        const changes = [...waiting]
        waiting.clear()
        const records = await Promise.all(
          changes.map(async ([name, value]) => {
            const place = await nameOf(name)
            return [place, value === undefined ? null : await sealed(place, [name, value])] as const
          }),
        )
        await stored(records)
      }
    } finally {
      writing = null
    }
  }

  async function sealed(place: ArrayBuffer, value: unknown): Promise<SealedRecord> {
    const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
    const algorithm = { name: 'AES-GCM', iv, additionalData: place }
    return { iv, sealed: await crypto.subtle.encrypt(algorithm, seal, encode(JSON.stringify(value))) }
  }

  const stored = (records: readonly (readonly [ArrayBuffer, SealedRecord | null])[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const transaction = database.transaction(RECORDS, 'readwrite', { durability: 'strict' })
      const store = transaction.objectStore(RECORDS)
      for (const [place, record] of records) record === null ? store.delete(place) : store.put(record, place)
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })

  return {
    userId,
    async all() {
      const store = database.transaction(RECORDS).objectStore(RECORDS)
      const [places, records] = await Promise.all([
        answered<IDBValidKey[]>(store.getAllKeys()),
        answered<SealedRecord[]>(store.getAll()),
      ])
      const opened = await Promise.all(
        records.map(async ({ iv, sealed: text }, at) => {
          const algorithm = { name: 'AES-GCM', iv, additionalData: places[at] as ArrayBuffer }
          const bytes = await crypto.subtle.decrypt(algorithm, seal, text).catch(() => null)
          return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as [string, unknown])
        }),
      )
      return opened.filter((one) => one !== null)
    },
    put(name, value) {
      waiting.set(name, value)
      writing ??= write()
      return writing
    },
    close: () => database.close(),
  }
}

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
