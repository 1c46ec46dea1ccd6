/** The cluster CA, and the certificate that members present to each other. Contract section 3.6. */

import type { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import { type FairQueue, INSIDE } from '../base/fair-queue.ts'
import { copySecret } from '../base/secret.ts'
import {
  checkDates,
  encodeCertificates,
  isIssuedBy,
  isRoot,
  parseCertificates,
} from '../crypto/encoding/certificates.ts'
import { CLUSTER_CA } from '../store/device-area.ts'
import { type DeviceRecords, readText, writeText } from './device-records.ts'
import { type CertificateRules, certificatesOf, leafOf, type TlsSettings } from './tls-settings.ts'

/** Extended key usages (RFC 5280 section 4.2.1.12). Each member of a cluster is a server and a client of the others. */
const PEER_USES = { '1.3.6.1.5.5.7.3.1': 'servers', '1.3.6.1.5.5.7.3.2': 'clients' }

/** Certificate and authority are PEM. */
interface PeerIdentity {
  certificate: string
  /** A copy: the caller wipes it. */
  key: Uint8Array
  authority: string
}

interface PeersOptions {
  records: DeviceRecords
  tls: TlsSettings
  /** Queue shared with `tls`, so that neither certificate nor authority changes while they are compared. */
  changes: FairQueue
}

export class Peers implements CertificateRules {
  /** Host name by which other members know this one; null while the node is standalone. */
  host: string | null = null
  readonly #records: DeviceRecords
  readonly #tls: TlsSettings
  readonly #changes: FairQueue

  constructor({ records, tls, changes }: PeersOptions) {
    this.#records = records
    this.#tls = tls
    this.#changes = changes
  }

  /** PEM; null if no CA was set. Throws `storage` if the record is unreadable. */
  get authority(): string | null {
    const text = readText(this.#records, CLUSTER_CA)
    if (text === undefined) throw new CofferError('storage', 'The cluster CA cannot be read')
    return text
  }

  /**
   * Throws `invalid` unless `pem` is exactly one root certificate. Throws `unavailable` in a cluster, or if the CA has not signed the
   * members' certificate.
   */
  setAuthority(pem: Uint8Array): Promise<void> {
    return this.#changes.run(INSIDE, async () => {
      if (this.host !== null)
        throw new CofferError('unavailable', 'This node is in a cluster, whose members know each other by its CA')
      const certificates = parseCertificates(pem)
      const [certificate, ...others] = certificates
      if (certificate === undefined || others.length > 0)
        throw new CofferError('invalid', 'Exactly one certificate is needed')
      checkDates(certificates)
      if (!isRoot(certificate)) throw new CofferError('invalid', 'Not a self-signed certificate of an authority')
      const text = encodeCertificates(certificates)
      assertSignedBy(certificatesOf(this.#tls.identity), text, this.#tls.noun)
      writeText(this.#records, CLUSTER_CA, text)
    })
  }

  /** Throws `unavailable` if no CA is set. */
  identity(): PeerIdentity {
    const authority = this.#expectAuthority()
    const { cert, key } = this.#tls.identity
    return { certificate: cert, key: copySecret(key), authority }
  }

  /** Throws `unavailable` unless other members would accept this node's certificate for `host`. */
  assertFit(host: string): void {
    const { noun, identity } = this.#tls
    const certificates = certificatesOf(identity)
    assertSignedBy(certificates, this.#expectAuthority(), noun)
    assertForPeer(leafOf(identity), host, noun)
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

/** Checked here because etcd rejects such a certificate without naming the member. */
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

/** One certificate signed by the CA is enough: the chain before it leads there. */
function assertSignedBy(certificates: readonly X509Certificate[], ca: string, noun: string): void {
  const authority = defined(parseCertificates(new TextEncoder().encode(ca))[0])
  if (!certificates.some((certificate) => isIssuedBy(certificate, authority)))
    throw new CofferError('unavailable', `The ${noun} certificate is not signed by the cluster CA`)
}
