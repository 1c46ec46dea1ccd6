/** A TLS key and its certificates: of a port, or of a member of a cluster. Contract sections 3.4, 3.6, 6.5 and 6.6. */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { CofferError } from '../base/error.ts'
import { type FairQueue, INSIDE } from '../base/fair-queue.ts'
import { copySecret, wipe } from '../base/secret.ts'
import { checkChain, encodeCertificates, parseCertificates } from '../crypto/encoding/certificates.ts'
import { type CsrSubject, createCsr } from '../crypto/encoding/csr.ts'
import { type Sign, signData } from '../crypto/encoding/signature.ts'
import type { Random } from '../crypto/random.ts'
import { assertServable } from '../crypto/tls/context.ts'
import { identityOf, isFor, isSelfMade, keyPairOf, type TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, KeyPair, KeyType } from '../crypto/types.ts'
import type { DeviceRecords } from './device-records.ts'

/** Rules that a cluster has for the certificate of its members; each throws `unavailable`. `noun` is that of `TlsSettings`. */
export interface CertificateRules {
  assertNewKeyAllowed(): void
  assertSigned(certificates: readonly X509Certificate[], noun: string): void
  /** Asked once more right before the certificate is stored. */
  assertUsable(leaf: X509Certificate, noun: string): void
}

interface TlsServices {
  records: DeviceRecords
  pool: CryptoPool
  random: Random
  /** Name of the record. */
  name?: string
  /** Shown until there is an identity of its own. */
  fallback?: TlsSettings
  /** As messages name key and certificate. */
  noun?: string
  /** Null where no cluster has a say. */
  rules?: () => CertificateRules | null
  /** Runs one change at a time; shared by settings that read each other's keys. */
  changes: FairQueue
  /** Called when the identity has changed: new connections shall get it. */
  onChange: () => void
}

/** Every change is tried in a handshake before it is stored, so that none can shut everybody out. */
export class TlsSettings {
  /** By which clients reach the port, as `alternativeNames` takes them. */
  names: readonly string[] = []
  readonly #services: TlsServices
  #identity: TlsIdentity | undefined
  #end: { cert: string; ms: number } | undefined

  constructor(services: TlsServices) {
    this.#services = services
  }

  /** As it is now; the key is wiped when another one replaces it. */
  get identity(): TlsIdentity {
    const { fallback } = this.#services
    return this.#identity ?? (fallback ? fallback.identity : this.#identity!)
  }

  /** False while it shows the identity of its fallback. */
  get isOwn(): boolean {
    return this.#identity !== undefined
  }

  /** `TLS`, for example, as in "The TLS certificate". */
  get noun(): string {
    return this.isOwn ? this.#noun : (this.#services.fallback?.noun ?? this.#noun)
  }

  get #noun(): string {
    return this.#services.noun ?? 'TLS'
  }

  /** Serves `identity` from now on. */
  use(identity: TlsIdentity): void {
    const former = this.#identity
    this.#identity = identity
    this.#services.onChange()
    if (former !== undefined && former.key !== identity.key) wipe(former.key)
  }

  /** Serves what the store holds. Where it holds nothing, the identity of the fallback is shown, or the former one goes on. */
  reload(): void {
    const { records, name, fallback } = this.#services
    const identity = records.read(`reading the ${this.#noun} identity`, (area) => area.readTlsIdentity(name))
    if (identity) this.use(identity)
    else if (identity === null && fallback !== undefined) this.#forget()
  }

  #forget(): void {
    const former = this.#identity
    if (former === undefined) return
    this.#identity = undefined
    this.#services.onChange()
    wipe(former.key)
  }

  /** When the certificate ends, in milliseconds since 1970. */
  get endMs(): number {
    const { cert } = this.identity
    if (this.#end?.cert !== cert) this.#end = { cert, ms: new X509Certificate(cert).validToDate.getTime() }
    return this.#end.ms
  }

  publicPem(): string {
    return createPublicKey(this.#privateKey()).export({ type: 'spki', format: 'pem' }).toString()
  }

  async csrPem(subject: CsrSubject): Promise<string> {
    const pair = keyPairOf(this.identity)
    return this.#withKey(pair, (sign) => createCsr(pair.type, pair.public, subject, sign))
  }

  /** Throws `invalid` for what no client could use, `unavailable` where the rules of the cluster are against it. */
  setCertificates(pem: Uint8Array): Promise<void> {
    return this.#services.changes.run(INSIDE, async () => {
      const certificates = parseCertificates(pem)
      if (!certificates[0]!.checkPrivateKey(this.#privateKey()))
        throw new CofferError('invalid', `The first certificate is not for the ${this.#noun} key`)
      checkChain(certificates)
      this.#rules()?.assertSigned(certificates, this.#noun)
      const key = this.isOwn ? this.identity.key : copySecret(this.identity.key)
      const identity = { key, cert: encodeCertificates(certificates) }
      await this.#replace(identity).catch((error) => this.#drop(identity, error))
    })
  }

  /** A new key with a self-signed certificate. Throws `unavailable` when there is an authority that would have to sign. */
  async generate(type: KeyType, bits?: number): Promise<void> {
    this.#rules()?.assertNewKeyAllowed()
    const pair = await this.#services.pool.generate(type, bits)
    const identity = await this.#withKey(pair, (sign) =>
      identityOf(pair, (data) => signData(pair.type, data, sign), this.#services.random, undefined, this.names),
    )
    await this.#services.changes
      .run(INSIDE, async () => {
        this.#rules()?.assertNewKeyAllowed()
        await this.#replace(identity)
      })
      .catch((error) => this.#drop(identity, error)) // also where too many wait
  }

  /**
   * A certificate that Coffer made itself is made anew, for the same key, where it lacks a name by which clients reach the port.
   * One that has them all stays, and so does one that an Administrator has set: clients hold copies of it.
   */
  keepNames(): Promise<void> {
    return this.#services.changes.run(INSIDE, async () => {
      const before = this.#identity
      if (before === undefined || isFor(before, this.names) || !isSelfMade(before)) return
      const pair = keyPairOf(before)
      const identity = await this.#withKey(pair, (sign) =>
        identityOf(pair, (data) => signData(pair.type, data, sign), this.#services.random, undefined, this.names),
      )
      if (this.#identity !== before) {
        wipe(identity.key) // a restore has replaced it, and asks for the same
        return
      }
      await assertServable(identity)
      this.#services.records.keep('keeping the certificate', (area) =>
        area.putTlsIdentity(identity, this.#services.name),
      )
      this.use(identity)
    })
  }

  async #replace(identity: TlsIdentity): Promise<void> {
    await assertServable(identity)
    this.#rules()?.assertUsable(certificatesOf(identity)[0]!, this.#noun) // only now: it may have become a member
    this.#services.records.write((area) => area.putTlsIdentity(identity, this.#services.name))
    this.use(identity)
  }

  /** Wipes a key that did not come into use, and throws `error`. */
  #drop({ key }: TlsIdentity, error: unknown): never {
    if (this.#identity?.key !== key) wipe(key)
    throw error
  }

  /** Wipes the private key of `pair` afterwards. */
  async #withKey<T>({ type, private: secret }: KeyPair, use: (sign: Sign) => Promise<T>): Promise<T> {
    const { pool } = this.#services
    const ref = nextRef--
    try {
      return await use((mode, message) => pool.sign({ ref, type, load: () => secret.slice() }, mode, message))
    } finally {
      pool.forget(ref)
      wipe(secret)
    }
  }

  #rules(): CertificateRules | null {
    return this.#services.rules?.() ?? null
  }

  #privateKey(): KeyObject {
    const { key } = this.identity
    return createPrivateKey(Buffer.from(key.buffer, key.byteOffset, key.length))
  }
}

/** Leaf first. */
export const certificatesOf = ({ cert }: TlsIdentity): X509Certificate[] =>
  parseCertificates(new TextEncoder().encode(cert))

/** The pool's numbers of keys: those of the domain count up from 1. */
let nextRef = -1
