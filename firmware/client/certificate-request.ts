/**
 * Reads certificate requests of third parties strictly: PKCS #10 (RFC 2986) with the extension request of RFC 2985 section 5.4.2.
 * Malformed input is refused, not corrected. The caller must verify the signature before it trusts the content.
 */

import { toHex } from './bytes.ts'
import { nameText, pemBlocks } from './certificate.ts'
import { children, context, type Element, oidText, TAG, whole } from './der.ts'
import { type Name, nameOf } from './general-name.ts'
import type { Sha2Name } from './sha2.ts'

export interface CertificateRequest {
  /** DER. */
  subject: Uint8Array
  subjectText: string
  /** SubjectPublicKeyInfo, DER. */
  key: Uint8Array
  names: Name[]
  /** Object identifiers of all other requested extensions and attributes. */
  others: string[]
  /** The signed bytes. `hash` is the digest of the signature, null for Ed25519. */
  signed: Uint8Array
  hash: Sha2Name | null
  signature: Uint8Array
}

const REQUEST_BYTES_MAX = 64 * 1024
const NAMES_MAX = 256 // as in requests of the appliance
const ATTRIBUTES_MAX = 32
const VALUE_CHARACTERS_MAX = 256

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const ALTERNATIVE_NAME = '2.5.29.17'
const NULL = '0500'

/** Digest and required parameters by object identifier. RFC 8017, 5758, 8410. */
const ALGORITHMS: Readonly<Record<string, { hash: Sha2Name | null; parameters: string }>> = {
  '1.2.840.113549.1.1.11': { hash: 'SHA256', parameters: NULL },
  '1.2.840.113549.1.1.12': { hash: 'SHA384', parameters: NULL },
  '1.2.840.113549.1.1.13': { hash: 'SHA512', parameters: NULL },
  '1.2.840.10045.4.3.2': { hash: 'SHA256', parameters: '' },
  '1.2.840.10045.4.3.3': { hash: 'SHA384', parameters: '' },
  '1.2.840.10045.4.3.4': { hash: 'SHA512', parameters: '' },
  '1.3.101.112': { hash: null, parameters: '' },
}

/** Takes PEM with one request, or DER. Throws `Error` with a sentence for the user. */
export function readRequest(bytes: Uint8Array): CertificateRequest {
  if (bytes.length > REQUEST_BYTES_MAX) throw new Error('The request is too large')
  const [info, algorithm, signature] = parts(whole(derOf(bytes), TAG.sequence), 3)
  const [version, subject, key, attributes] = parts(expect(info, TAG.sequence), 4)
  if (toHex(present(version).whole) !== '020100') throw new Error('The version of the request is not known')
  checkName(expect(subject, TAG.sequence))
  return {
    subject: present(subject).whole,
    subjectText: nameText(present(subject)),
    key: expect(key, TAG.sequence).whole,
    ...wishes(expect(attributes, context(0))),
    signed: present(info).whole,
    hash: hashOf(expect(algorithm, TAG.sequence)),
    signature: bitsOf(present(signature)),
  }
}

function derOf(bytes: Uint8Array): Uint8Array {
  if (bytes[0] === TAG.sequence) return bytes
  const pem = new TextDecoder().decode(bytes)
  const blocks = [...pemBlocks(pem, 'CERTIFICATE REQUEST'), ...pemBlocks(pem, 'NEW CERTIFICATE REQUEST')]
  const [block, ...others] = blocks
  if (block === undefined || others.length > 0 || pem.split('-----BEGIN ').length !== 2)
    throw new Error('Not one certificate request')
  return block
}

/** Throws `Error` if the name has an empty string, or one that programs may show differently. */
function checkName(name: Element): void {
  const sets = children(name.content)
  if (sets.length > ATTRIBUTES_MAX) throw new Error('The subject has too many parts')
  for (const set of sets) {
    const pairs = children(expect(set, TAG.set).content)
    if (pairs.length === 0) throw new Error('The subject has an empty part')
    for (const pair of pairs) {
      const [type, value] = parts(expect(pair, TAG.sequence), 2)
      oidText(present(type))
      const { tag, content } = present(value)
      if (![TAG.utf8, TAG.printable, TAG.ia5].some((allowed) => allowed === tag))
        throw new Error('The subject has a string of a kind of long ago')
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
      const isAscii = tag === TAG.utf8 || /^[\x20-\x7e]*$/.test(text)
      if (text === '' || text.length > VALUE_CHARACTERS_MAX || /[\p{C}\p{Zl}\p{Zp}]/u.test(text) || !isAscii)
        throw new Error('The subject has a string that programs show differently')
    }
  }
}

function wishes(attributes: Element): Pick<CertificateRequest, 'names' | 'others'> {
  const others: string[] = []
  const extensions: Element[] = []
  const seen = new Set<string>()
  const first = (type: string) => {
    if (seen.has(type)) throw new Error(`The request has ${type} twice`)
    seen.add(type)
    return type
  }
  for (const attribute of children(attributes.content)) {
    const [type, values] = parts(expect(attribute, TAG.sequence), 2)
    const name = first(oidText(present(type)))
    if (name !== EXTENSION_REQUEST) others.push(name)
    else
      extensions.push(
        ...parts(expect(values, TAG.set), 1).flatMap((list) => children(expect(list, TAG.sequence).content)),
      )
  }
  const names: Name[] = []
  for (const extension of extensions) {
    const [type, ...rest] = children(expect(extension, TAG.sequence).content)
    const name = first(oidText(present(type)))
    const [isCritical, value] = rest.length === 2 ? rest : [null, rest[0]]
    if (rest.length > 2 || (isCritical && toHex(isCritical.whole) !== '0101ff'))
      throw new Error('An extension is malformed')
    const { content } = expect(value, TAG.octets)
    if (name === ALTERNATIVE_NAME) names.push(...children(whole(content, TAG.sequence).content).map(nameOf))
    else others.push(name)
  }
  if (seen.has(ALTERNATIVE_NAME) && names.length === 0) throw new Error('The list of names is empty')
  if (names.length > NAMES_MAX) throw new Error(`The request has more than ${NAMES_MAX} names`)
  return { names, others }
}

function hashOf(algorithm: Element): Sha2Name | null {
  const [type, ...parameters] = children(algorithm.content)
  const name = oidText(present(type))
  const known = ALGORITHMS[name]
  if (known === undefined) throw new Error(`The signature is of a kind that is not taken: ${name}`)
  if (parameters.map(({ whole }) => toHex(whole)).join('') !== known.parameters)
    throw new Error('The signature is malformed')
  return known.hash
}

function bitsOf(element: Element): Uint8Array {
  const { content } = expect(element, TAG.bitString)
  if (content[0] !== 0) throw new Error('The signature is malformed')
  return content.subarray(1)
}

/** Throws `Error` unless the element has exactly `count` children. */
function parts({ content }: Element, count: number): Element[] {
  const found = children(content)
  if (found.length !== count) throw new Error('Not a certificate request')
  return found
}

function present(element: Element | undefined): Element {
  if (element === undefined) throw new Error('Not a certificate request')
  return element
}

function expect(element: Element | undefined, tag: number): Element {
  if (element?.tag !== tag) throw new Error('Not a certificate request')
  return element
}
