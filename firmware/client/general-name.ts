/** Names of a certificate's subject: GeneralName of RFC 5280 section 4.2.1.6, as text and as DER. */

import { addressText } from './certificate.ts'
import { type Element, element } from './der.ts'

export interface Name {
  kind: 'DNS' | 'IP' | 'email' | 'URI'
  text: string
  der: Uint8Array
}

const EMAIL = 0x81
const DNS = 0x82
const URI = 0x86
const IP = 0x87

const LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?'
const DNS_NAME = new RegExp(`^(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*$`)
const DNS_CHARACTERS_MAX = 253
const EMAIL_ADDRESS = /^[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,253}$/
const ADDRESS_URI = /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]{1,2000}$/

/** Reads a name of a certificate request. Throws `Error` for other kinds, and for text that programs may show differently. */
export function nameOf({ tag, content, whole }: Element): Name {
  if (tag === IP && (content.length === 4 || content.length === 16))
    return { kind: 'IP', text: addressText(content), der: whole }
  const text = String.fromCharCode(...content)
  const kind = tag === DNS ? 'DNS' : tag === EMAIL ? 'email' : tag === URI ? 'URI' : null
  if (kind === null || !isOf(kind, text)) throw new Error('A name is of a kind that is not taken, or malformed')
  return { kind, text, der: whole }
}

/** Parses a DNS name, an address with or without `IP:`, an email address, or a URI. */
export function generalName(written: string): Name {
  const text = written.replace(/^(?:IP|DNS):/i, '')
  const address = /^DNS:/i.test(written) ? null : addressBytes(text)
  if (address !== null) return { kind: 'IP', text: addressText(address), der: element(IP, address) }
  const kind = isOf('DNS', text) ? 'DNS' : isOf('email', text) ? 'email' : isOf('URI', text) ? 'URI' : null
  if (kind === null || /^IP:/i.test(written)) throw new Error(`Not a name that a certificate can have: ${written}`)
  const tag = { DNS, email: EMAIL, URI }[kind]
  return { kind, text, der: element(tag, new TextEncoder().encode(text)) }
}

const isOf = (kind: 'DNS' | 'email' | 'URI', text: string): boolean =>
  kind === 'DNS'
    ? text.length <= DNS_CHARACTERS_MAX && DNS_NAME.test(text)
    : kind === 'email'
      ? EMAIL_ADDRESS.test(text)
      : ADDRESS_URI.test(text)

export function addressBytes(text: string): Uint8Array | null {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) {
    const bytes = text.split('.').map(Number)
    return bytes.every((byte) => byte <= 255) ? Uint8Array.from(bytes) : null
  }
  if (!/^[0-9a-fA-F:.]{2,45}$/.test(text) || !text.includes(':')) return null
  try {
    // The URL parser returns the shortest form, in which `::` stands for the missing zeros.
    const shortest = new URL(`http://[${text}]`).hostname.slice(1, -1)
    const [left = [], right = []] = shortest.split('::').map((side) => (side === '' ? [] : side.split(':')))
    const zeros = Array<string>(8 - left.length - right.length).fill('0')
    const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16))
    return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255]))
  } catch {
    return null
  }
}
