/**
 * Encrypted records in an object store of the browser's database: AES-GCM with a key that scripts cannot export. Names of records are
 * keyed hashes, and are authenticated with their values.
 */

const IV_BYTES = 12

export interface SealKeys {
  readonly seal: CryptoKey
  readonly names: CryptoKey
}

interface SealedRecord {
  iv: Uint8Array<ArrayBuffer>
  sealed: ArrayBuffer
}

export interface SealedStore {
  /** Omits values that cannot be decrypted. */
  all(): Promise<[name: string, value: unknown][]>
  /** Undefined if there is none, or it cannot be decrypted. */
  get(name: string): Promise<unknown>
  /** Resolves once the value is on disk. Of several waiting values only the last is written; undefined removes. */
  put(name: string, value: unknown): Promise<void>
  clear(): Promise<void>
}

export const createSealKeys = async (): Promise<SealKeys> => ({
  seal: await createCipherKey(),
  names: await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
})

/** Returns what opens the text again. The key exists in memory only, and scripts cannot export it. */
export async function sealInMemory(text: string): Promise<() => Promise<string>> {
  const algorithm = { name: 'AES-GCM', iv: crypto.getRandomValues(new Uint8Array(IV_BYTES)) }
  const key = await createCipherKey()
  const sealed = await crypto.subtle.encrypt(algorithm, key, encode(text))
  return async () => new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, sealed))
}

export const answered = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

export function openSealedStore(database: IDBDatabase, storeName: string, { seal, names }: SealKeys): SealedStore {
  const waiting = new Map<string, unknown>()
  let writing: Promise<void> | null = null

  const nameOf = (name: string): Promise<ArrayBuffer> => crypto.subtle.sign('HMAC', names, encode(name))
  const reading = () => database.transaction(storeName).objectStore(storeName)

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
        await stored((store) => {
          for (const [place, record] of records) record === null ? store.delete(place) : store.put(record, place)
        })
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

  async function opened({ iv, sealed: text }: SealedRecord, place: ArrayBuffer): Promise<[string, unknown] | null> {
    const algorithm = { name: 'AES-GCM', iv, additionalData: place }
    const bytes = await crypto.subtle.decrypt(algorithm, seal, text).catch(() => null)
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as [string, unknown])
  }

  const stored = (change: (store: IDBObjectStore) => unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      const transaction = database.transaction(storeName, 'readwrite', { durability: 'strict' })
      change(transaction.objectStore(storeName))
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })

  return {
    async all() {
      const store = reading()
      const [places, records] = await Promise.all([
        answered<IDBValidKey[]>(store.getAllKeys()),
        answered<SealedRecord[]>(store.getAll()),
      ])
      const all = await Promise.all(records.map((record, at) => opened(record, places[at] as ArrayBuffer)))
      return all.filter((one) => one !== null)
    },
    async get(name) {
      const place = await nameOf(name)
      const record = await answered<SealedRecord | undefined>(reading().get(place))
      return record === undefined ? undefined : (await opened(record, place))?.[1]
    },
    put(name, value) {
      waiting.set(name, value)
      writing ??= write()
      return writing
    },
    async clear() {
      await writing?.catch(() => {})
      await stored((store) => store.clear())
    },
  }
}

const createCipherKey = (): Promise<CryptoKey> =>
  crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
