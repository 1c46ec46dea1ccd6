/** Operations with keys: sign, decrypt, encrypt, public key and certificate request. Contract sections 6.1 to 6.5, 7.4, 7.6. */

import { type Clock, formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import { wipeAndFree } from '../../base/secret.ts'
import { type MechanismName, type Permissions, permits } from '../../crypto/algorithms.ts'
import { type CsrSubject, createCsr } from '../../crypto/encoding/csr.ts'
import { publicKeyPem } from '../../crypto/encoding/public-key.ts'
import type { DecryptMode, EncryptMode, SignMode } from '../../crypto/types.ts'
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

const hasIv = (mode: DecryptMode): mode is EncryptMode => Object.hasOwn(IV_BYTES, mode)

export class KeyUse {
  readonly #context: Context
  readonly #clock: Clock
  readonly #users: Users
  readonly #keys: Keys

  constructor(context: Context, clock: Clock, users: Users, keys: Keys) {
    this.#context = context
    this.#clock = clock
    this.#users = users
    this.#keys = keys
  }

  /** `context`: at most 255 bytes, for ML_DSA only. */
  sign(actor: Actor, id: string, mode: SignMode, message: Input, context: Input | null = null): Promise<Uint8Array> {
    return this.#use(actor, id, 'sign', async (key) =>
      useAndWipe(message, (input) => {
        const label = context?.()
        assertPermitted(key.mechanisms, 'sign', mode)
        if (label !== undefined && mode !== 'ML_DSA')
          throw new CofferError('invalid', 'context: it goes with the mode ML_DSA alone')
        const derivation = isHmac(mode) ? hmacContext(key.mechanisms) : label
        return this.#context.pool.sign(this.#keys.handle(key), mode, input, derivation)
      }),
    )
  }

  /** Independent of mechanisms, which restrict private keys; not counted. `message` is that of `sign`. */
  async verify(actor: Actor, id: string, mode: SignMode, message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    const { namespace } = actor.caller
    const { type } = this.#keys.get(namespace, id)
    const publicKey = this.#keys.publicKey(namespace, id)
    if (publicKey === null) throw new CofferError('invalid', `${type} keys have no public key`)
    return this.#context.pool.verify(type, publicKey, mode, message, signature)
  }

  /** `iv`: for AES_CBC and XAES_GCM, ignored in other modes. */
  decrypt(
    actor: Actor,
    id: string,
    mode: DecryptMode,
    encrypted: Input,
    iv: Input | null,
    associatedData: Input | null = null,
  ): Promise<Uint8Array> {
    return this.#use(actor, id, 'decrypt', async (key) =>
      useAndWipe(encrypted, (input) => {
        const vector = iv?.()
        assertPermitted(key.mechanisms, 'decrypt', mode)
        if (!hasIv(mode)) return this.#context.pool.decrypt(this.#keys.handle(key), mode, input)
        return this.#context.pool.decrypt(
          this.#keys.handle(key),
          mode,
          input,
          checkedIv(vector, mode),
          associatedData?.(),
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
    associatedData: Input | null = null,
  ): Promise<{ encrypted: Uint8Array; iv: Uint8Array }> {
    return this.#use(actor, id, 'encrypt', async (key) => {
      const [encrypted, vector] = useAndWipe(message, (input) => {
        const vector = iv?.() ?? this.#context.random(IV_BYTES[mode])
        assertPermitted(key.mechanisms, 'encrypt', mode)
        if (mode === 'XAES_GCM' && iv !== null)
          throw new CofferError('invalid', 'iv: XAES_GCM takes a random one, which the answer has')
        const handle = this.#keys.handle(key)
        const encrypted = this.#context.pool.encrypt(handle, mode, input, checkedIv(vector, mode), associatedData?.())
        return [encrypted, vector] as const
      })
      return { encrypted: await encrypted, iv: vector }
    })
  }

  /** Throws `forbidden` and logs the attempt if the caller has none of the key's tags. */
  authorize(actor: Actor, id: string, action: keyof Permissions): void {
    if (isUsableWith(this.#keys.get(actor.caller.namespace, id), this.#users.tagsOfCaller(actor.caller))) return
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
    operate: (key: Readonly<KeyEntry>) => Promise<T>,
  ): Promise<T> {
    let outcome = 'failed'
    try {
      const key = this.#keys.get(actor.caller.namespace, id)
      if (!isUsableWith(key, this.#users.tagsOfCaller(actor.caller))) throw otherTags()
      const result = await operate(key)
      this.#context.assertOpen()
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

  #audit({ caller, address }: Actor, action: string, id: string, outcome: string): void {
    const where = caller.namespace === '' ? '' : ` namespace ${caller.namespace}`
    this.#context.log.info(
      'keys',
      `${formatTime(this.#clock.now())} ${caller.userId} from ${address || 'inside'}: ${action} ${id}${where}: ${outcome}`,
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
