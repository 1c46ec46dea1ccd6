/** Operations with keys: sign, decrypt, encrypt, public key and certificate request. Contract sections 6.1 to 6.5, 7.4, 7.6. */

import { concatBytes } from '@noble/hashes/utils.js'
import { type Clock, formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import { assertAuthorized } from '../../base/request-authorization.ts'
import { wipeAndFree } from '../../base/secret.ts'
import { type MechanismName, type Permissions, permits } from '../../crypto/algorithms.ts'
import { type CsrSubject, createCsr } from '../../crypto/encoding/csr.ts'
import { publicKeyPem } from '../../crypto/encoding/public-key.ts'
import type { DecryptMode, EncryptMode, KeyHandle, PublicKey, SignMode } from '../../crypto/types.ts'
import { XAES_NONCE_BYTES } from '../../crypto/xaes.ts'
import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { isUsableWith } from './key-directory.ts'
import type { KeyEntry } from './key-index.ts'
import type { Keys } from './keys.ts'
import type { Caller } from './roles.ts'
import type { Users } from './users.ts'

interface Actor {
  caller: Caller
  address: string
}

/**
 * Decodes the client's input. Called after the tag restriction is checked. Throws `invalid`. The bytes are wiped once the crypto pool has
 * them.
 */
export type Input = () => Uint8Array

/** AES-CBC: a block. XAES: a nonce. */
const IV_BYTES: Readonly<Record<EncryptMode, number>> = { AES_CBC: 16, XAES_GCM: XAES_NONCE_BYTES }

interface UseOptions {
  associatedData?: Input | undefined
  /** Needed by keys with `derived`, refused by others. */
  context?: Input | undefined
  /** Without it, version 1, for APIs without versions. */
  version?: number | undefined
}

const hasIv = (mode: DecryptMode): mode is EncryptMode => Object.hasOwn(IV_BYTES, mode)

interface Line {
  /** How often each text is to be logged. */
  counts: Map<string, number>
  /** Public keys of the key that was used last. */
  decoded?: DecodedKey
}

interface DecodedKey {
  key: Readonly<KeyEntry>
  /** Version of the key when its record was read. */
  version: KeyEntry['version']
  publicKeyOf: (version: number) => PublicKey
}

export class KeyUse {
  readonly #context: Context
  readonly #clock: Clock
  readonly #users: Users
  readonly #keys: Keys
  /** Lines of requests that use a key many times. */
  readonly #lines = new WeakMap<Actor, Line>()

  constructor(context: Context, clock: Clock, users: Users, keys: Keys) {
    this.#context = context
    this.#clock = clock
    this.#users = users
    this.#keys = keys
  }

  /** `context`: at most 255 bytes, for ML_DSA only. `version`: as in `UseOptions`. */
  sign(
    actor: Actor,
    id: string,
    mode: SignMode,
    message: Input,
    context: Input | null = null,
    version?: number,
  ): Promise<Uint8Array> {
    return this.#use(actor, id, 'sign', version, async (key, handle) =>
      useAndWipe(message, (input) => {
        const label = context?.()
        assertPermitted(key.mechanisms, 'sign', mode)
        if (label !== undefined && mode !== 'ML_DSA')
          throw new CofferError('invalid', 'context: it goes with the mode ML_DSA alone')
        const derivation = isHmac(mode) ? hmacContext(key.mechanisms) : label
        return this.#context.pool.sign(handle(), mode, input, derivation)
      }),
    )
  }

  /** Independent of mechanisms, which restrict private keys; not counted. `message` is that of `sign`. */
  async verify(
    actor: Actor,
    id: string,
    mode: SignMode,
    message: Uint8Array,
    signature: Uint8Array,
    version?: number,
  ): Promise<boolean> {
    const { namespace } = actor.caller
    const key = this.#keys.getAnyVersion(namespace, id)
    const publicKey = this.#publicKey(actor, key, version)
    if (publicKey === null) throw new CofferError('invalid', `${key.type} keys have no public key`)
    return this.#context.pool.verify(key.type, publicKey, mode, message, signature)
  }

  /** `iv`: for AES_CBC and XAES_GCM, ignored in other modes. */
  decrypt(
    actor: Actor,
    id: string,
    mode: DecryptMode,
    encrypted: Input,
    iv: Input | null,
    { associatedData, context, version }: UseOptions = {},
  ): Promise<Uint8Array> {
    return this.#use(actor, id, 'decrypt', version, async (key, handle) =>
      useAndWipe(encrypted, (input) => {
        const vector = iv?.()
        assertPermitted(key.mechanisms, 'decrypt', mode)
        if (!hasIv(mode)) return this.#context.pool.decrypt(handle(), mode, input)
        const derivation = derivationOf(key, mode, context)
        return this.#context.pool.decrypt(
          handle(),
          mode,
          input,
          checkedIv(vector, mode),
          associatedData?.(),
          derivation,
        )
      }),
    )
  }

  /** Generates a random `iv` if it is missing. Throws `invalid` for a given one of XAES_GCM, which must never be used twice. */
  encrypt(
    actor: Actor,
    id: string,
    mode: EncryptMode,
    message: Input,
    iv: Input | null,
    { associatedData, context, version }: UseOptions = {},
  ): Promise<{ encrypted: Uint8Array; iv: Uint8Array }> {
    return this.#use(actor, id, 'encrypt', version, async (key, handle) => {
      const [encrypted, vector] = useAndWipe(message, (input) => {
        const vector = iv?.() ?? this.#context.random(IV_BYTES[mode])
        assertPermitted(key.mechanisms, 'encrypt', mode)
        if (mode === 'XAES_GCM' && iv !== null)
          throw new CofferError('invalid', 'iv: XAES_GCM takes a random one, which the answer has')
        const derivation = derivationOf(key, mode, context)
        const encrypted = this.#context.pool.encrypt(
          handle(),
          mode,
          input,
          checkedIv(vector, mode),
          associatedData?.(),
          derivation,
        )
        return [encrypted, vector] as const
      })
      return { encrypted: await encrypted, iv: vector }
    })
  }

  /** Encrypts for an RSA key, which decrypts with OAEP_SHA256. As each use, it needs the caller's right to use the key, and is counted. */
  encryptRsa(actor: Actor, id: string, message: Input, version: number): Promise<Uint8Array> {
    return this.#use(actor, id, 'encrypt', version, async (key) =>
      useAndWipe(message, (input) => {
        assertPermitted(key.mechanisms, 'decrypt', 'OAEP_SHA256')
        const publicKey = this.#publicKey(actor, key, version)
        return this.#context.pool.encryptRsa(publicKey, input)
      }),
    )
  }

  /** Throws `forbidden` and logs the attempt if the caller has none of the key's tags. */
  authorize(actor: Actor, id: string, action: keyof Permissions): void {
    if (isUsableWith(this.#keys.getAnyVersion(actor.caller.namespace, id), this.#users.tagsOfCaller(actor.caller)))
      return
    this.#audit(actor, action, id, 'forbidden')
    throw otherTags()
  }

  /** Throws `invalid` for Generic keys. */
  publicPem(namespace: Namespace, id: string): string {
    return publicKeyPem(this.#keys.get(namespace, id).type, this.#keys.publicKey(namespace, id))
  }

  /** Independent of the key's mechanisms and tags, and not counted. Throws `invalid` for Generic keys. */
  async csrPem({ caller, address }: Actor, id: string, subject: CsrSubject): Promise<string> {
    const key = this.#keys.get(caller.namespace, id)
    assertInUse(key, 'sign')
    const sign = (mode: SignMode, data: Uint8Array) => this.#context.pool.sign(this.#keys.handle(key), mode, data)
    const csr = await createCsr(key.type, this.#keys.publicKey(caller.namespace, id), subject, sign)
    this.#context.assertOpen()
    this.#audit({ caller, address }, 'csr', id, 'ok')
    return csr
  }

  async #use<T>(
    actor: Actor,
    id: string,
    action: keyof Permissions,
    version: number | undefined,
    operate: (key: Readonly<KeyEntry>, handle: () => KeyHandle) => Promise<T>,
  ): Promise<T> {
    let outcome = 'failed'
    try {
      const { namespace } = actor.caller
      const key = version === undefined ? this.#keys.get(namespace, id) : this.#keys.getAnyVersion(namespace, id)
      this.#assertTagged(actor, key)
      if (version === undefined) assertInUse(key, action)
      const result = await operate(key, () => this.#keys.handle(key, version))
      this.#context.assertOpen()
      // The request, the right to the key, or the version, may have ended while the use waited for a thread.
      assertAuthorized()
      this.#assertTagged(actor, key)
      assertInUse(key, action, version)
      this.#keys.count(key)
      outcome = 'ok'
      return result
    } catch (error) {
      if (error instanceof CofferError) outcome = error.code
      throw error
    } finally {
      this.#audit(actor, action, id, outcome)
    }
  }

  #assertTagged({ caller }: Actor, key: Readonly<KeyEntry>): void {
    if (!isUsableWith(key, this.#users.tagsOfCaller(caller))) throw otherTags()
  }

  /** Decoded once in `inOneLine`, unless the key changes: the record may be large. */
  #publicKey(actor: Actor, key: Readonly<KeyEntry>, version = 1): PublicKey {
    const line = this.#lines.get(actor)
    const known = line?.decoded
    if (known?.key === key && known.version === key.version) return known.publicKeyOf(version)
    const publicKeyOf = this.#keys.publicKeys(key)
    if (line !== undefined) line.decoded = { key, version: key.version, publicKeyOf }
    return publicKeyOf(version)
  }

  /** Logs all uses by `actor`, which is the request, as one line with counts. */
  async inOneLine<T>(actor: Actor, act: () => Promise<T>): Promise<T> {
    const counts = new Map<string, number>()
    this.#lines.set(actor, { counts })
    try {
      return await act()
    } finally {
      this.#lines.delete(actor)
      const uses = [...counts].map(([use, count]) => (count === 1 ? use : `${use} ${count} times`))
      if (uses.length > 0) this.#log(actor, uses.join(', '))
    }
  }

  #audit(actor: Actor, action: string, id: string, outcome: string): void {
    const { namespace } = actor.caller
    const use = `${action} ${id}${namespace === '' ? '' : ` namespace ${namespace}`}: ${outcome}`
    const counts = this.#lines.get(actor)?.counts
    if (counts === undefined) this.#log(actor, use)
    else counts.set(use, (counts.get(use) ?? 0) + 1)
  }

  #log({ caller, address }: Actor, uses: string): void {
    this.#context.log.info(
      'keys',
      `${formatTime(this.#clock.now())} ${caller.userId} from ${address || 'inside'}: ${uses}`,
    )
  }
}

const otherTags = () => new CofferError('forbidden', 'Your tags do not allow you to use this key')

function useAndWipe<T>(input: Input, use: (bytes: Uint8Array) => T): T {
  const bytes = input()
  try {
    return use(bytes)
  } finally {
    wipeAndFree(bytes)
  }
}

function assertPermitted<Use extends keyof Permissions>(
  mechanisms: readonly MechanismName[],
  use: Use,
  mode: Permissions[Use][number],
): void {
  if (!permits(mechanisms, use, mode))
    throw new CofferError('invalid', `No mechanism of the key permits ${use} ${mode}`)
}

/**
 * Without `version`, for APIs without versions. Those with versions refuse an encryption by a retired one themselves. Contract section 7.11.
 */
function assertInUse({ versions }: Readonly<KeyEntry>, use: keyof Permissions, version?: number): void {
  if (versions === null) return
  const { minDecryption, minEncryption } = versions
  const isRetired =
    version === undefined ? minDecryption > 1 || (use !== 'decrypt' && minEncryption > 1) : version < minDecryption
  if (isRetired) throw new CofferError('invalid', `Version ${version ?? 1} of this key is retired`)
}

const CONTEXT_PREFIX = new TextEncoder().encode('coffer transit context')

/** Info of the derivation of a message's key; undefined if the key itself encrypts. */
function derivationOf(
  { derived }: Readonly<KeyEntry>,
  mode: EncryptMode,
  context: Input | undefined,
): Uint8Array | undefined {
  if (!derived || mode !== 'XAES_GCM') return undefined
  if (context === undefined)
    throw new CofferError('invalid', 'Messages of this key need a context, which only the transit API takes')
  return concatBytes(CONTEXT_PREFIX, context())
}

function checkedIv(iv: Uint8Array | undefined, mode: EncryptMode): Uint8Array {
  const bytes = IV_BYTES[mode]
  if (iv?.length !== bytes) throw new CofferError('invalid', `iv: ${bytes} bytes are needed`)
  return iv
}

const isHmac = (mode: SignMode): boolean => mode.startsWith('HMAC_')

const HMAC_CONTEXT = new TextEncoder().encode('coffer hmac key')

/** One key must not serve two algorithms: contract section 6.1. */
const hmacContext = (mechanisms: readonly MechanismName[]): Uint8Array | undefined =>
  mechanisms.every((name) => name === 'HMAC') ? undefined : HMAC_CONTEXT
