/** The TLS key, its certificates and the cluster's authority. Contract sections 3.4, 6.5 and 6.6. */

import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { CofferError } from '../base/error.ts'
import { createFairQueue, INSIDE } from '../base/fair-queue.ts'
import { copySecret, wipe } from '../base/secret.ts'
import {
  checkChain,
  encodeCertificates,
  isIssuedBy,
  isRoot,
  parseCertificates,
} from '../crypto/encoding/certificates.ts'
import { type CsrSubject, createCsr } from '../crypto/encoding/csr.ts'
import { type Sign, signData } from '../crypto/encoding/signature.ts'
import type { Random } from '../crypto/random.ts'
import { assertServable } from '../crypto/tls/context.ts'
import { identityOf, isFor, isSelfMade, keyPairOf, type TlsIdentity } from '../crypto/tls/identity.ts'
import type { CryptoPool, KeyPair, KeyType } from '../crypto/types.ts'
import { CLUSTER_CA } from '../store/device-area.ts'
import { type DeviceRecords, readText, writeText } from './device-records.ts'

const CHANGES_MAX = 16 // waiting for one another, milliseconds each

/** RFC 5280 section 4.2.1.12. Members of a cluster are clients of one another, too. */
const PEER_USES = { '1.3.6.1.5.5.7.3.1': 'servers', '1.3.6.1.5.5.7.3.2': 'clients' }

/** What a member of a cluster shows the others; PEM. */
interface PeerIdentity {
  certificate: string
  /** A copy; whoever gets it wipes it. */
  key: Uint8Array
  authority: string
}

interface TlsServices {
  records: DeviceRecords
  pool: CryptoPool
  random: Random
  /** Where the identity lies. */
  name?: string
  /** Whether the cluster's authority, where there is one, has to sign it. */
  ofCluster?: boolean
  /** The identity has changed: new connections shall get it. */
  onChange: () => void
}

/** Every change is tried in a handshake before it is stored, so that none can shut everybody out. */
export class TlsSettings {
  /** Under which the other members of a cluster know this one; null while it is alone. */
  peerHost: string | null = null
  /** By which clients reach the port, as `alternativeNames` takes them. */
  names: readonly string[] = []
  readonly #services: TlsServices
  readonly #changes = createFairQueue(CHANGES_MAX)
  #identity: TlsIdentity | undefined
  #end: { cert: string; ms: number } | undefined

  constructor(services: TlsServices) {
    this.#services = services
  }

  /** As it is now; the key is wiped when another one replaces it. */
  get identity(): TlsIdentity {
    return this.#identity!
  }

  /** Serves `identity` from now on. */
  use(identity: TlsIdentity): void {
    const former = this.#identity
    this.#identity = identity
    this.#services.onChange()
    if (former !== undefined && former.key !== identity.key) wipe(former.key)
  }

  /** Serves what the store holds. */
  reload(): void {
    const identity = this.#services.records.read('reading the TLS identity', (area) =>
      area.readTlsIdentity(this.#services.name),
    )
    if (identity) this.use(identity)
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

  /** Throws `invalid` for what no client could use, `unavailable` when the cluster's authority has not signed it, or members could not use it. */
  setCertificates(pem: Uint8Array): Promise<void> {
    return this.#changes.run(INSIDE, async () => {
      const certificates = parseCertificates(pem)
      if (!certificates[0]!.checkPrivateKey(this.#privateKey()))
        throw new CofferError('invalid', 'The first certificate is not for the TLS key')
      checkChain(certificates)
      const ca = this.#authority()
      if (ca !== null) assertSignedBy(certificates, ca)
      await this.#replace({ key: this.identity.key, cert: encodeCertificates(certificates) })
    })
  }

  /** A new key with a self-signed certificate. Throws `unavailable` when there is an authority that would have to sign. */
  async generate(type: KeyType, bits?: number): Promise<void> {
    this.#assertNoClusterCa()
    const pair = await this.#services.pool.generate(type, bits)
    const identity = await this.#withKey(pair, (sign) =>
      identityOf(pair, (data) => signData(pair.type, data, sign), this.#services.random, undefined, this.names),
    )
    try {
      await this.#changes.run(INSIDE, async () => {
        this.#assertNoClusterCa()
        await this.#replace(identity)
      })
    } catch (error) {
      wipe(identity.key)
      throw error
    }
  }

  /**
   * A certificate that Coffer made itself is made anew, for the same key, where it lacks a name by which clients reach the port.
   * One that has them all stays, and so does one that an Administrator has set: clients hold copies of it.
   */
  keepNames(): Promise<void> {
    return this.#changes.run(INSIDE, async () => {
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

  /** PEM, or null when none was ever set. */
  get clusterCa(): string | null {
    const text = readText(this.#services.records, CLUSTER_CA)
    if (text === undefined) throw new CofferError('storage', 'The cluster CA cannot be read')
    return text
  }

  /** Throws `invalid` unless it is one root, `unavailable` in a cluster, or unless it has signed the TLS certificate. */
  setClusterCa(pem: Uint8Array): Promise<void> {
    return this.#changes.run(INSIDE, async () => {
      if (this.peerHost !== null)
        throw new CofferError('unavailable', 'This node is in a cluster, whose members know each other by its CA')
      const certificates = parseCertificates(pem)
      if (certificates.length !== 1) throw new CofferError('invalid', 'Exactly one certificate is needed')
      if (!isRoot(certificates[0]!)) throw new CofferError('invalid', 'Not a self-signed certificate of an authority')
      const text = encodeCertificates(certificates)
      assertSignedBy(parseCertificates(new TextEncoder().encode(this.identity.cert)), text)
      writeText(this.#services.records, CLUSTER_CA, text)
    })
  }

  /** What the members of a cluster know each other by. Throws `unavailable` where there is no authority. */
  peerIdentity(): PeerIdentity {
    const authority = this.clusterCa
    if (authority === null) throw new CofferError('unavailable', 'No cluster CA is set')
    return { certificate: this.identity.cert, key: copySecret(this.identity.key), authority }
  }

  /** Throws `unavailable` unless the other members of a cluster would take its certificate for that of this host. */
  assertFitForPeers(host: string): void {
    const authority = this.clusterCa
    if (authority === null) throw new CofferError('unavailable', 'No cluster CA is set')
    const certificates = parseCertificates(new TextEncoder().encode(this.identity.cert))
    assertSignedBy(certificates, authority)
    assertForPeer(certificates[0]!, host)
  }

  async #replace(identity: TlsIdentity): Promise<void> {
    await assertServable(identity)
    if (this.peerHost !== null) assertForPeer(firstOf(identity), this.peerHost) // only now: it may have become a member
    this.#services.records.write((area) => area.putTlsIdentity(identity, this.#services.name))
    this.use(identity)
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

  #assertNoClusterCa(): void {
    if (this.#authority() === null) return
    throw new CofferError('unavailable', 'A cluster CA is set: a self-signed certificate would not be signed by it')
  }

  #authority(): string | null {
    return this.#services.ofCluster === false ? null : this.clusterCa
  }

  #privateKey(): KeyObject {
    const { key } = this.identity
    return createPrivateKey(Buffer.from(key.buffer, key.byteOffset, key.length))
  }
}

const firstOf = ({ cert }: TlsIdentity): X509Certificate => parseCertificates(new TextEncoder().encode(cert))[0]!

/** The pool's numbers of keys: those of the domain count up from 1. */
let nextRef = -1

/** What etcd would refuse without saying which of its members is to blame. */
function assertForPeer(certificate: X509Certificate, host: string): void {
  const uses = certificate.keyUsage as string[] | undefined
  for (const [use, who] of Object.entries(PEER_USES))
    if (uses !== undefined && !uses.includes(use))
      throw new CofferError('unavailable', `The TLS certificate is not for ${who}, which members of a cluster are`)
  const isForHost = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)
  if (isForHost === undefined)
    throw new CofferError('unavailable', `The TLS certificate has no subject alternative name ${host}`)
  const curve = certificate.publicKey.asymmetricKeyDetails?.namedCurve
  if (curve?.startsWith('brainpool'))
    throw new CofferError('unavailable', 'Members of a cluster cannot use a TLS key on a Brainpool curve')
}

/** One of the chain is enough: everything before it is then under that authority, too. */
function assertSignedBy(certificates: readonly X509Certificate[], ca: string): void {
  const [authority] = parseCertificates(new TextEncoder().encode(ca))
  if (!certificates.some((certificate) => isIssuedBy(certificate, authority!)))
    throw new CofferError('unavailable', 'The TLS certificate is not signed by the cluster CA')
}
