/** The cluster's authority, and the certificate that members show each other. Contract section 3.6. */

import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { CofferError } from '../base/error.ts'
import { type FairQueue, INSIDE } from '../base/fair-queue.ts'
import { copySecret } from '../base/secret.ts'
import { encodeCertificates, isIssuedBy, isRoot, parseCertificates } from '../crypto/encoding/certificates.ts'
import { CLUSTER_CA } from '../store/device-area.ts'
import { type DeviceRecords, readText, writeText } from './device-records.ts'
import { type CertificateRules, certificatesOf, type TlsSettings } from './tls-settings.ts'

/** RFC 5280 section 4.2.1.12. Members of a cluster are clients of one another, too. */
const PEER_USES = { '1.3.6.1.5.5.7.3.1': 'servers', '1.3.6.1.5.5.7.3.2': 'clients' }

/** PEM. */
interface PeerIdentity {
  certificate: string
  /** A copy, which the caller wipes. */
  key: Uint8Array
  authority: string
}

interface PeersOptions {
  records: DeviceRecords
  /** The identity that members show. */
  tls: TlsSettings
  /** Shared with `tls`: a certificate and the authority are compared while neither changes. */
  changes: FairQueue
}

export class Peers implements CertificateRules {
  /** Under which the other members of a cluster know this one; null while it is standalone. */
  host: string | null = null
  readonly #records: DeviceRecords
  readonly #tls: TlsSettings
  readonly #changes: FairQueue

  constructor({ records, tls, changes }: PeersOptions) {
    this.#records = records
    this.#tls = tls
    this.#changes = changes
  }

  /** PEM, or null when none was ever set. */
  get authority(): string | null {
    const text = readText(this.#records, CLUSTER_CA)
    if (text === undefined) throw new CofferError('storage', 'The cluster CA cannot be read')
    return text
  }

  /** Throws `invalid` unless it is one root, `unavailable` in a cluster, or unless it has signed the certificate that members show. */
  setAuthority(pem: Uint8Array): Promise<void> {
    return this.#changes.run(INSIDE, async () => {
      if (this.host !== null)
        throw new CofferError('unavailable', 'This node is in a cluster, whose members know each other by its CA')
      const certificates = parseCertificates(pem)
      if (certificates.length !== 1) throw new CofferError('invalid', 'Exactly one certificate is needed')
      if (!isRoot(certificates[0]!)) throw new CofferError('invalid', 'Not a self-signed certificate of an authority')
      const text = encodeCertificates(certificates)
      assertSignedBy(certificatesOf(this.#tls.identity), text, this.#tls.noun)
      writeText(this.#records, CLUSTER_CA, text)
    })
  }

  /** Throws `unavailable` where there is no authority. */
  identity(): PeerIdentity {
    const authority = this.#expectAuthority()
    const { cert, key } = this.#tls.identity
    return { certificate: cert, key: copySecret(key), authority }
  }

  /** Throws `unavailable` unless the other members of a cluster would take the certificate for that of this host. */
  assertFit(host: string): void {
    const { noun, identity } = this.#tls
    const certificates = certificatesOf(identity)
    assertSignedBy(certificates, this.#expectAuthority(), noun)
    assertForPeer(certificates[0]!, host, noun)
  }

  assertNewKeyAllowed(): void {
    if (this.authority === null) return
    throw new CofferError('unavailable', 'A cluster CA is set: a self-signed certificate would not be signed by it')
  }

  assertSigned(certificates: readonly X509Certificate[], noun: string): void {
    const { authority } = this
    if (authority !== null) assertSignedBy(certificates, authority, noun)
  }

  assertUsable(leaf: X509Certificate, noun: string): void {
    if (this.host !== null) assertForPeer(leaf, this.host, noun)
  }

  #expectAuthority(): string {
    const { authority } = this
    if (authority === null) throw new CofferError('unavailable', 'No cluster CA is set')
    return authority
  }
}

/** etcd would refuse such a certificate without saying which of its members is to blame. */
function assertForPeer(certificate: X509Certificate, host: string, noun: string): void {
  const uses = certificate.keyUsage as string[] | undefined
  for (const [use, who] of Object.entries(PEER_USES))
    if (uses !== undefined && !uses.includes(use))
      throw new CofferError('unavailable', `The ${noun} certificate is not for ${who}, which members of a cluster are`)
  const isForHost = isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)
  if (isForHost === undefined)
    throw new CofferError('unavailable', `The ${noun} certificate has no subject alternative name ${host}`)
  const curve = certificate.publicKey.asymmetricKeyDetails?.namedCurve
  if (curve?.startsWith('brainpool'))
    throw new CofferError('unavailable', `Members of a cluster cannot use a ${noun} key on a Brainpool curve`)
}

/** One of the chain is enough: everything before it is then under that authority, too. */
function assertSignedBy(certificates: readonly X509Certificate[], ca: string, noun: string): void {
  const [authority] = parseCertificates(new TextEncoder().encode(ca))
  if (!certificates.some((certificate) => isIssuedBy(certificate, authority!)))
    throw new CofferError('unavailable', `The ${noun} certificate is not signed by the cluster CA`)
}
