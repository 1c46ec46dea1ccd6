/** Certificate signing requests: PKCS#10 (RFC 2986) with the rules of contract section 6.5. */

import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { Attributes, CertificationRequest, CertificationRequestInfo } from '@peculiar/asn1-csr'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  Attribute,
  AttributeTypeAndValue,
  AttributeValue,
  Extension,
  Extensions,
  GeneralName,
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509'
import { CofferError } from '../../base/error.ts'
import { canonicalIPv6 } from '../../base/ip-address.ts'
import type { KeyType, PublicKey } from '../types.ts'
import { encodePem } from './pem.ts'
import { bufferOf, publicKeyInfo } from './public-key.ts'
import { type Sign, signatureAlgorithm, signData } from './signature.ts'

/** Empty and absent members are omitted from the request. */
export interface CsrSubject {
  commonName?: string | undefined
  countryName?: string | undefined
  stateOrProvinceName?: string | undefined
  localityName?: string | undefined
  organizationName?: string | undefined
  organizationalUnitName?: string | undefined
  emailAddress?: string | undefined
  /** Absent or null: the common name, if it is a DNS name. Empty: no alternative names. */
  subjectAltNames?: readonly string[] | null | undefined
}

/** Returns a request in PEM, signed by `sign`. Throws CofferError `invalid` for Generic keys and invalid subjects. */
export async function createCsr(type: KeyType, publicKey: PublicKey, subject: CsrSubject, sign: Sign): Promise<string> {
  const info = new CertificationRequestInfo({
    subject: nameOf(subject),
    subjectPKInfo: publicKeyInfo(type, publicKey),
    attributes: new Attributes(attributesOf(subject)),
  })
  const request = new CertificationRequest({
    certificationRequestInfo: info,
    signatureAlgorithm: signatureAlgorithm(type),
    signature: bufferOf(await signData(type, new Uint8Array(AsnConvert.serialize(info)), sign)),
  })
  return encodePem('CERTIFICATE REQUEST', new Uint8Array(AsnConvert.serialize(request)))
}

const ATTRIBUTES_IN_ORDER = [
  ['commonName', '2.5.4.3', 'utf8String'],
  ['countryName', '2.5.4.6', 'printableString'],
  ['stateOrProvinceName', '2.5.4.8', 'utf8String'],
  ['localityName', '2.5.4.7', 'utf8String'],
  ['organizationName', '2.5.4.10', 'utf8String'],
  ['organizationalUnitName', '2.5.4.11', 'utf8String'],
  ['emailAddress', '1.2.840.113549.1.9.1', 'ia5String'],
] as const

const CHARACTERS = {
  utf8String: /^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, // programs truncate or misread names with a line break or a NUL
  printableString: /^[A-Za-z0-9 '()+,\-./:=?]*$/, // X.680 section 41.4
  ia5String: /^[\x20-\x7e]*$/,
}

/** Name with one attribute per RDN. */
export function nameOf(subject: CsrSubject): Name {
  if (subject.commonName === '') throw new CofferError('invalid', 'commonName: must not be empty')
  const name = new Name()
  for (const [field, type, kind] of ATTRIBUTES_IN_ORDER) {
    const text = subject[field]
    if (text === undefined || text === '') continue
    if (!CHARACTERS[kind].test(text)) throw new CofferError('invalid', `${field}: contains characters not allowed here`)
    const value = new AttributeValue({ [kind]: text })
    name.push(new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value })]))
  }
  return name
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14' // RFC 2985 section 5.4.2
const ALT_NAMES_MAX = 256 // encoding is fast up to this number; public CAs accept 100 to 250

function attributesOf({ commonName, subjectAltNames }: CsrSubject): Attribute[] {
  const names = subjectAltNames ?? (commonName !== undefined && isDnsName(commonName) ? [commonName] : [])
  if (names.length === 0) return []
  if (names.length > ALT_NAMES_MAX) throw new CofferError('invalid', `subjectAltNames: at most ${ALT_NAMES_MAX}`)
  const extensions = new Extensions([alternativeNames(names)])
  return [new Attribute({ type: EXTENSION_REQUEST, values: [AsnConvert.serialize(extensions)] })]
}

/** Labels of letters, digits, hyphens and underscores; the first label may be a wildcard. RFC 1123 section 2.1. */
const DNS_NAME = /^(?=.{1,253}$)(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})?)*\.?$/

const isDnsName = (text: string): boolean => DNS_NAME.test(CHARACTERS.ia5String.test(text) ? text : domainToASCII(text))

/** Extension of RFC 5280 section 4.2.1.6. IP addresses begin with `IP:`. */
export function alternativeNames(names: readonly string[]): Extension {
  const extnValue = new OctetString(AsnConvert.serialize(new SubjectAlternativeName(names.map(generalName))))
  return new Extension({ extnID: id_ce_subjectAltName, extnValue })
}

function generalName(text: string): GeneralName {
  if (!CHARACTERS.utf8String.test(text))
    throw new CofferError('invalid', 'subjectAltNames: contains characters not allowed here')
  if (text.startsWith('IP:')) return new GeneralName({ iPAddress: ipAddress(text.slice(3)) })
  // The field is an IA5String: international names are encoded as A-labels (RFC 5280 section 7.2).
  const dNSName = CHARACTERS.ia5String.test(text) ? text : domainToASCII(text)
  if (dNSName === '') throw new CofferError('invalid', 'subjectAltNames: the name cannot be written as a DNS name')
  return new GeneralName({ dNSName })
}

/** Normalizes IPv6 addresses, since the encoder supports neither zones nor embedded IPv4 addresses. */
function ipAddress(text: string): string {
  const version = isIP(text)
  if (version === 0 || text.includes('%')) throw new CofferError('invalid', 'subjectAltNames: not an IP address')
  return version === 4 ? text : canonicalIPv6(text)
}
