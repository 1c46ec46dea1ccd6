/** Checks of a certificate from a CA before it is installed, beyond those of every certificate of a port. Contract section 3.4. */

import { X509Certificate } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { formatTime } from '../base/clock.ts'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import {
  certificatesIn,
  checkChain,
  isIssuedBy,
  isRoot,
  namesOf,
  parseCertificates,
} from '../crypto/encoding/certificates.ts'
import { HOUR_MS } from './schedule.ts'

/** Authorities that a chain may lead to, as outgoing connections trust them. */
interface Trust {
  /** PEM. */
  authorities: string
  publicAuthorities: boolean
}

interface CertificateCheck {
  names: readonly string[]
  nowMs: number
  trust: Trust
}

const LIFE_MS_MIN = HOUR_MS // a shorter one would be renewed all the time
const CLOCK_DIFFERENCE_MS = 300_000 // some CAs issue from this second on, by their own clock

/** Throws CofferError `invalid`. */
export function checkCertificate(pem: Uint8Array, { names, nowMs, trust }: CertificateCheck): void {
  const certificates = parseCertificates(pem)
  checkChain(certificates)
  for (const [i, { validFromDate, validToDate }] of certificates.entries())
    if (!isValidAt(nowMs, validFromDate.getTime(), validToDate.getTime()))
      throw refusal(`certificate ${i + 1} is valid from ${[validFromDate, validToDate].map(textOf).join(' to ')} only`)
  const leaf = defined(certificates[0])
  if (!(leaf.validToDate.getTime() - leaf.validFromDate.getTime() >= LIFE_MS_MIN))
    throw refusal('it is valid for less than an hour')
  const found = namesOf(leaf)
  const isExact = found !== null && new Set(found).size === names.length && names.every((name) => found.includes(name))
  if (!isExact) throw refusal('it has other names than were ordered')
  const last = defined(certificates.at(-1))
  if (!isRoot(last) && !isTrusted(last, trust))
    throw refusal(
      'its chain leads to no authority that is known: is its root among the authorities of outgoing connections?',
    )
}

/** False for dates that cannot be read, which are NaN. */
const isValidAt = (nowMs: number, fromMs: number, toMs: number): boolean =>
  fromMs <= nowMs + CLOCK_DIFFERENCE_MS && fromMs < toMs && toMs > nowMs

const refusal = (reason: string): CofferError => new CofferError('invalid', `The certificate was refused: ${reason}`)

const textOf = (date: Date): string => formatTime(date.getTime())

function isTrusted(certificate: X509Certificate, { authorities, publicAuthorities }: Trust): boolean {
  const isIssuer = (authority: X509Certificate): boolean => isIssuedBy(certificate, authority)
  if (certificatesIn(authorities).some(isIssuer)) return true
  return publicAuthorities && rootCertificates.some((pem) => isIssuer(new X509Certificate(pem)))
}
