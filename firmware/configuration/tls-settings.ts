/** The TLS key and certificates of a port or a cluster member. Contract sections 3.4, 3.6, 6.5 and 6.6. */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import { type FairQueue, INSIDE } from '../base/fair-queue.ts'
import { assertConditions } from '../base/request-authorization.ts'
import { copySecret, wipe } from '../base/secret.ts'
import {
  checkChain,
  checkDates,
  encodeCertificates,
  lifeOf,
  parseCertificates,
} from '../crypto/encoding/certificates.ts'
import { type CsrSubject, createCsr } from '../crypto/encoding/csr.ts'
import { type Sign, signData } from '../crypto/encoding/signature.ts'
import type { Random } from '../crypto/random.ts'
import { assertServable } from '../crypto/tls/context.ts'
import { identityOf, isFor, isSelfMade, keyPairOf, type TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, KeyPair, KeyType } from '../crypto/types.ts'
import type { DeviceRecords } from './device-records.ts'

/** Rules of a cluster for its members' certificates; each throws `unavailable`. For `noun` see `TlsSettings`. */
export interface CertificateRules {
  assertNewKeyAllowed(): void
  assertSigned(certificates: readonly X509Certificate[], noun: string): void
  /** Checked once more right before the certificate is stored. */
  assertUsable(leaf: X509Certificate, noun: string): void
}

interface TlsServices {
  records: DeviceRecords
  pool: CryptoPool
  random: Random
  /** Record name; the default is the API port's. */
  name?: string
  /** Presented until these settings have their own identity. */
  fallback?: TlsSettings
  /** Name of the key and certificate in messages; default `TLS`. */
  noun?: string
  /** Returns null where no cluster rules apply. */
  rules?: () => CertificateRules | null
  /** Runs one change at a time. Settings that read each other's keys share it. */
  changes: FairQueue
  onChange: () => void
}

const NO_END_MS = Date.UTC(9999, 11, 31, 23, 59, 59) // RFC 5280 section 4.1.2.5

/** Each change is tried in a TLS handshake before it is stored, so that a bad certificate cannot lock all clients out. */
export class TlsSettings {
  /** Names and addresses by which clients reach the port, in the form that `alternativeNames` takes. */
  names: readonly string[] = []
  readonly #services: TlsServices
  #identity: TlsIdentity | undefined
  #life: { cert: string; startMs: number; endMs: number } | undefined

  constructor(services: TlsServices) {
    this.#services = services
  }

  /** Undefined until `reload` or `use`, unless there is a fallback. */
  get identityIfAny(): TlsIdentity | undefined {
    return this.#identity ?? this.#services.fallback?.identityIfAny
  }

  /** The current identity. Its key is wiped when the identity is replaced. */
  get identity(): TlsIdentity {
    return defined(this.identityIfAny)
  }

  get isOwn(): boolean {
    return this.#identity !== undefined
  }

  get noun(): string {
    return this.isOwn ? this.#noun : (this.#services.fallback?.noun ?? this.#noun)
  }

  get #noun(): string {
    return this.#services.noun ?? 'TLS'
  }

  use(identity: TlsIdentity): void {
    const former = this.#identity
    this.#identity = identity
    this.#services.onChange()
    if (former !== undefined && former.key !== identity.key) wipe(former.key)
  }

  /** Loads the stored identity. Without one, the fallback's identity is presented; without a fallback the current one stays. */
  reload(): void {
    const { records, name, fallback } = this.#services
    const identity = records.read(`read the ${this.#noun} identity`, (area) => area.readTlsIdentity(name))
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

  /** Expiry of the certificate, in milliseconds since 1970. */
  get endMs(): number {
    return this.life.endMs
  }

  /** Validity of the certificate, in milliseconds since 1970. */
  get life(): { startMs: number; endMs: number } {
    const { cert } = this.identity
    if (this.#life?.cert !== cert) {
      const { startMs, endMs } = lifeOf(new X509Certificate(cert))
      // An earlier version took dates that cannot be read.
      this.#life = { cert, startMs: startMs || 0, endMs: Number.isNaN(endMs) ? NO_END_MS : endMs }
    }
    return this.#life
  }

  publicPem(): string {
    return createPublicKey(this.#privateKey()).export({ type: 'spki', format: 'pem' }).toString()
  }

  async csrPem(subject: CsrSubject): Promise<string> {
    const pair = keyPairOf(this.identity)
    return this.#withKey(pair, (sign) => createCsr(pair.type, pair.public, subject, sign))
  }

  /** Throws `invalid` for certificates that no client could use, `unavailable` if the cluster's rules forbid them. */
  setCertificates(pem: Uint8Array): Promise<void> {
    return this.#services.changes.run(INSIDE, async () => {
      assertConditions()
      const certificates = parseCertificates(pem)
      if (!defined(certificates[0]).checkPrivateKey(this.#privateKey()))
        throw new CofferError('invalid', `The first certificate is not for the ${this.#noun} key`)
      checkDates(certificates)
      checkChain(certificates)
      this.#rules()?.assertSigned(certificates, this.#noun)
      const key = this.isOwn ? this.identity.key : copySecret(this.identity.key)
      const identity = { key, cert: encodeCertificates(certificates) }
      await this.#replace(identity).catch((error) => this.#drop(identity, error))
    })
  }

  /** Replaces the key, with a self-signed certificate. Throws `unavailable` if a CA is set, which would have to sign. */
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
      .catch((error) => this.#drop(identity, error)) // including a full queue
  }

  /**
   * Renews a self-made certificate, for the same key, if it lacks a name by which clients reach the port. Complete certificates and those
   * set by an Administrator stay, because clients pin them.
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
        wipe(identity.key) // a restore has replaced the identity and calls this again
        return
      }
      await assertServable(identity)
      this.#services.records.keep('store the certificate', (area) => area.putTlsIdentity(identity, this.#services.name))
      this.use(identity)
    })
  }

  async #replace(identity: TlsIdentity): Promise<void> {
    await assertServable(identity)
    this.#rules()?.assertUsable(leafOf(identity), this.#noun) // checked last: the node may have joined a cluster meanwhile
    this.#services.records.write((area) => area.putTlsIdentity(identity, this.#services.name))
    this.use(identity)
  }

  /** Wipes an unused key, then throws `error`. */
  #drop({ key }: TlsIdentity, error: unknown): never {
    if (this.#identity?.key !== key) wipe(key)
    throw error
  }

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

/** References of TLS keys in the crypto pool. Negative, since the domain's keys count up from 1. */
let nextRef = -1

export const leafOf = (identity: TlsIdentity): X509Certificate => defined(certificatesOf(identity)[0])
