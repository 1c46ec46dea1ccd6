/**
 * Reads the parts of an X.509 certificate (RFC 5280) that people compare: subject, issuer, names, dates and fingerprints.
 * Verifies nothing.
 */

import { fromBase64, toBase64, toHex } from './bytes.ts'
import { children, type Element, readElement } from './der.ts'
import { sha256 } from './sha2.ts'

export interface CertificateFacts {
  /** `CN=…, O=…`, the most specific first, as OpenSSL prints it. */
  subject: string
  issuer: string
  /** DNS names and addresses of the extension subjectAltName. */
  names: string[]
  notBefore: Date
  notAfter: Date
  /** Hex. */
  serial: string
  /** SHA-256 of the certificate, hex. */
  fingerprint: string
  /** SHA-256 of its public key, as the appliance's terminal shows it: `sha256//<base64>`. */
  keyFingerprint: string
}

/** Reads the certificates of a PEM text in their order. Throws `Error` if one is malformed. */
export const readCertificates = (pem: string): CertificateFacts[] => pemBlocks(pem, 'CERTIFICATE').map(readCertificate)

/** Reads PEM or DER, since keys store either. Empty if the bytes are neither. */
export function certificatesOf(stored: Uint8Array): CertificateFacts[] {
  try {
    if (stored[0] === SEQUENCE) return [readCertificate(stored)]
    return readCertificates(new TextDecoder().decode(stored))
  } catch {
    return []
  }
}

/** Fingerprint of a public key in PEM: `sha256//<base64>`, as `curl --pinnedpubkey` takes it. */
export function keyFingerprint(publicPem: string): string {
  const [key] = pemBlocks(publicPem, 'PUBLIC KEY')
  if (key === undefined) throw new Error('No public key')
  return pinOf(key)
}

export function pemBlocks(pem: string, label: string): Uint8Array[] {
  const pattern = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]*)-----END ${label}-----`, 'g')
  return [...pem.matchAll(pattern)].map(([, body = '']) => fromBase64(body))
}

export function readCertificate(der: Uint8Array): CertificateFacts {
  const outer = expectTag(readElement(der, 0), SEQUENCE)
  const body = expectTag(readElement(outer.content, 0), SEQUENCE)
  const parts = children(body.content)
  if (parts[0]?.tag === VERSION) parts.shift()
  const [serial, , issuer, validity, subject, key, ...rest] = parts
  if (!serial || !issuer || !validity || !subject || !key) throw new Error('Not a certificate')
  const [from, until] = children(validity.content)
  if (!from || !until) throw new Error('Not a certificate')
  const extensions = rest.find(({ tag }) => tag === EXTENSIONS)
  return {
    subject: nameText(subject),
    issuer: nameText(issuer),
    names: extensions ? alternativeNames(extensions) : [],
    notBefore: readTime(from),
    notAfter: readTime(until),
    serial: toHex(serial.content),
    fingerprint: toHex(sha256(der)),
    keyFingerprint: pinOf(key.whole),
  }
}

const SEQUENCE = 0x30
const VERSION = 0xa0
const EXTENSIONS = 0xa3
const OCTETS = 0x04
const UTC_TIME = 0x17
const DNS_NAME = 0x82
const ADDRESS = 0x87
const ALTERNATIVE_NAME = '551d11'
const ATTRIBUTES: Readonly<Record<string, string>> = {
  '550403': 'CN',
  '550406': 'C',
  '550407': 'L',
  '550408': 'ST',
  '55040a': 'O',
  '55040b': 'OU',
  '2a864886f70d010901': 'emailAddress',
}

function expectTag(element: Element, tag: number): Element {
  if (element.tag !== tag) throw new Error('Not a certificate')
  return element
}

export function nameText(name: Element): string {
  const parts = children(name.content)
    .flatMap((set) => children(set.content))
    .map((pair) => {
      const [type, value] = children(pair.content)
      if (!type || !value) throw new Error('Not a name')
      const oid = toHex(type.content)
      return `${ATTRIBUTES[oid] ?? oid}=${new TextDecoder().decode(value.content)}`
    })
  return parts.join(', ')
}

function alternativeNames(extensions: Element): string[] {
  const list = children(extensions.content)[0]
  for (const extension of list ? children(list.content) : []) {
    const [oid, ...values] = children(extension.content)
    if (!oid || toHex(oid.content) !== ALTERNATIVE_NAME) continue
    const octets = values.find(({ tag }) => tag === OCTETS)
    if (!octets) return []
    return children(readElement(octets.content, 0).content).flatMap(({ tag, content }) => {
      if (tag === DNS_NAME) return [new TextDecoder().decode(content)]
      return tag === ADDRESS ? [addressText(content)] : []
    })
  }
  return []
}

export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups: string[] = []
  for (let at = 0; at + 1 < bytes.length; at += 2)
    groups.push(((bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0)).toString(16))
  return groups.join(':')
}

function readTime({ tag, content }: Element): Date {
  const text = new TextDecoder().decode(content)
  const [, year, rest] = /^(\d{2}|\d{4})(\d{10})Z$/.exec(text) ?? []
  if (year === undefined || rest === undefined) throw new Error('Not a time')
  const full = tag === UTC_TIME ? `${Number(year) < 50 ? '20' : '19'}${year}` : year
  const [month, day, hour, minute, second] = rest.match(/../g) ?? []
  return new Date(`${full}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

function pinOf(spki: Uint8Array): string {
  return `sha256//${toBase64(sha256(spki))}`
}
