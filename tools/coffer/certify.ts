/** The authority at work: what is checked of a request, signed by the appliance, verified with OpenSSL and written down. */

import { createPublicKey, type KeyObject, randomBytes, verify as verifySignature, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../firmware/base/defined.ts'
import { fromBase64, toBase64, toHex } from '../../firmware/client/bytes.ts'
import { readCertificate } from '../../firmware/client/certificate.ts'
import { type CertificateRequest, readRequest } from '../../firmware/client/certificate-request.ts'
import type { Reason, Use } from '../../firmware/client/certificate-uses.ts'
import type { Client } from '../../firmware/client/client.ts'
import { children, TAG, context as tagged, whole } from '../../firmware/client/der.ts'
import { generalName, type Name } from '../../firmware/client/general-name.ts'
import {
  algorithmOf,
  type CertificateBody,
  certificateBody,
  extensionsOf,
  type Issuer,
  keyIdOf,
  listBody,
  signed,
  subjectName,
} from '../../firmware/client/issuing.ts'
import { createSha2, type Sha2Name } from '../../firmware/client/sha2.ts'
import { signModes } from '../../firmware/client/signatures.ts'
import {
  type Authority,
  addIssued,
  certificateFile,
  createAuthority,
  exclusively,
  type IndexEntry,
  indexSubject,
  indexTime,
  readAuthority,
  readIndex,
  takeListNumber,
  timeOfIndex,
  writeIndex,
} from './authority.ts'
import type { OptionValues } from './command.ts'
import type { CommandContext } from './context.ts'
import { EXIT, Failure, usage } from './failure.ts'
import { readInput, writeWhole } from './files.ts'
import { table } from './output.ts'
import { confirm } from './terminal.ts'

const AUTHORITY_DAYS = 3650
const CERTIFICATE_DAYS = 365
const LIST_DAYS = 30
const DAYS_MAX = 36_500
const DAY_MS = 86_400_000
const EARLIER_MS = 300_000 // for clocks that go after ours
const SERIAL_BYTES = 16
const RSA_BITS_MIN = 2048

interface Signer {
  spki: Buffer
  publicKey: KeyObject
  algorithm: Uint8Array
  sign(body: Uint8Array): Promise<Uint8Array>
}

export async function init({ client, output, signal }: CommandContext, input: OptionValues): Promise<void> {
  const key = input.argument(0)
  const directory = input.text('directory') ?? 'ca'
  const listUrl = input.text('crl-url')
  if (listUrl !== undefined && defined(namesOf([listUrl])[0]).kind !== 'URI')
    throw usage(`--crl-url: not an address: ${listUrl}`)
  const signer = await createSigner(client(), key)
  const file = input.text('certificate')
  const certificate = file === undefined ? await selfSigned(signer, input) : foreign(readInput(file), signer)
  const pem = pemOf('CERTIFICATE', certificate)
  await createAuthority({ directory, key, certificate, ...(listUrl !== undefined && { listUrl }) }, pem, signal)
  const { subject, notAfter, fingerprint } = readCertificate(certificate)
  output.result({ directory, subject, notAfter, fingerprint, pem }, () => certificateFile(directory))
  output.note(`${subject}, until ${notAfter.toISOString().slice(0, 10)}, SHA-256 ${fingerprint}`)
}

async function selfSigned(signer: Signer, input: OptionValues): Promise<Buffer> {
  const commonName = input.text('common-name')
  if (commonName === undefined) throw usage('what is it called?', '--common-name TEXT')
  const parts = [
    { type: '2.5.4.6', tag: TAG.printable, value: input.text('country') },
    { type: '2.5.4.10', tag: TAG.utf8, value: input.text('organization') },
    { type: '2.5.4.3', tag: TAG.utf8, value: commonName },
  ].flatMap(({ value, ...part }) => (value === undefined ? [] : [{ ...part, value }]))
  for (const { type, value } of parts) {
    const isGood = type === '2.5.4.6' ? /^[A-Z]{2}$/.test(value) : /^[^\p{C}\p{Zl}\p{Zp}]{1,64}$/u.test(value)
    if (!isGood) throw usage(`not a part of a name: ${value}`)
  }
  const name = subjectName(parts)
  const now = Date.now()
  const issuer: Issuer = { name, keyId: keyIdOf(signer.spki), algorithm: signer.algorithm }
  const body = certificateBody(issuer, {
    serial: newSerial(),
    subject: name,
    key: signer.spki,
    ...validity(now, daysOf(input, AUTHORITY_DAYS)),
    extensions: extensionsOf({ use: 'authority', key: signer.spki, names: [], hasEmptySubject: false }, null),
  })
  return Buffer.from(signed(body, signer.algorithm, await signer.sign(body)))
}

function foreign(bytes: Buffer, { spki }: Signer): Buffer {
  const certificate = certificateIn(bytes)
  if (!certificate.publicKey.export({ type: 'spki', format: 'der' }).equals(spki))
    throw new Failure(EXIT.refused, 'the certificate is for another key')
  if (!certificate.ca) throw new Failure(EXIT.refused, 'the certificate is not that of an authority')
  return certificate.raw
}

export async function sign(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output, signal } = context
  const authority = await authorityOf(input)
  const own = new X509Certificate(authority.certificate)
  const use = (input.text('for') ?? 'server') as Use
  const request = verified(readInput(input.argument(0)))
  const wanted = input.list('name')
  const names = wanted.length > 0 ? namesOf(wanted) : request.names
  checkNames(use, names)
  if (use === 'authority') expectMayMakeAuthorities(authority.certificate)
  const lifetime = validity(Date.now(), daysOf(input, CERTIFICATE_DAYS))
  const end = new Date(own.validTo)
  const notAfter = lifetime.notAfter > end ? end : lifetime.notAfter
  if (end.getTime() <= Date.now()) throw new Failure(EXIT.refused, `the authority’s certificate ended ${own.validTo}`)

  const shown = [
    ['Subject', request.subjectText || '(empty)'],
    ['Names', names.map(({ kind, text }) => `${kind}:${text}`).join(', ') || '(none)'],
    ['For', use],
    ['Key', describe(publicKeyOf(request.key))],
    ['Until', notAfter.toISOString().slice(0, 10)],
    ...(request.others.length > 0 ? [['Left out', request.others.join(', ')]] : []),
  ]
  output.note(table(['', ''], shown).replace(/^\s*\n/, ''))
  if (!input.flag('yes') && !(await confirm('Sign it?')))
    throw new Failure(EXIT.refused, 'not signed', 'without a terminal: --yes')

  const signer = await createSigner(client(), authority.key)
  const issuer = issuerOf(authority, signer)
  const body: CertificateBody = {
    serial: newSerial(),
    subject: request.subject,
    key: request.key,
    notBefore: lifetime.notBefore,
    notAfter,
    extensions: extensionsOf({ use, key: request.key, names, hasEmptySubject: request.subjectText === '' }, issuer),
  }
  const pem = await exclusively(authority.directory, async () => {
    const bytes = certificateBody(issuer, body)
    const der = Buffer.from(signed(bytes, signer.algorithm, await signer.sign(bytes)))
    const certificate = new X509Certificate(der)
    if (!certificate.checkIssued(own)) throw new Failure(EXIT.refused, 'the certificate is not one of this authority')
    const text = pemOf('CERTIFICATE', der)
    const entry = { state: 'V', notAfter: indexTime(notAfter), revoked: '', serial: hexOf(body.serial) } as const
    await addIssued(authority, { ...entry, subject: indexSubject(request.subjectText) }, text, signal)
    return text
  })
  const serial = hexOf(body.serial)
  const file = input.text('output')
  if (file !== undefined && file !== '-') {
    await writeWhole(file, [Buffer.from(pem)], signal)
    if (!input.flag('json')) return output.note(file)
  }
  output.result({ serial, notAfter, pem }, () => pem)
}

export async function list({ output }: CommandContext, input: OptionValues): Promise<void> {
  const entries = readIndex(await authorityOf(input))
  const now = new Date()
  const states = entries.map((entry) => {
    const until = timeOfIndex(entry.notAfter)
    const [at, reason] = entry.revoked.split(',')
    const state = entry.state === 'R' ? 'revoked' : until < now ? 'expired' : 'valid'
    return {
      serial: entry.serial,
      state,
      until,
      subject: entry.subject,
      ...(entry.state === 'R' && { revoked: timeOfIndex(defined(at)) }),
      ...(reason && { reason }),
    }
  })
  output.result(
    states,
    () =>
      table(
        ['SERIAL', 'STATE', 'UNTIL', 'SUBJECT'],
        states.map(({ serial, state, until, subject }) => [serial, state, until.toISOString().slice(0, 10), subject]),
      ),
    () => states.map(({ serial }) => serial),
  )
}

export async function revoke({ output, signal }: CommandContext, input: OptionValues): Promise<void> {
  const authority = await authorityOf(input)
  const reason = input.text('reason')
  const serial = serialOf(input.argument(0), authority)
  await exclusively(authority.directory, async () => {
    const entries = readIndex(authority)
    const found = entries.find((entry) => entry.serial === serial)
    if (found === undefined) throw new Failure(EXIT.refused, `no certificate ${serial} was issued here`)
    if (found.state === 'R') throw new Failure(EXIT.refused, `${serial} is revoked already`)
    found.state = 'R'
    found.revoked = `${indexTime(new Date())}${reason === undefined ? '' : `,${reason}`}`
    await writeIndex(authority, entries, signal)
  })
  output.note(`${serial} is revoked. Who checks learns it from the next list: coffer ca crl`)
}

export async function revocationList(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output, signal } = context
  const authority = await authorityOf(input)
  const days = daysOf(input, LIST_DAYS)
  const signer = await createSigner(client(), authority.key)
  const issuer = issuerOf(authority, signer)
  const pem = await exclusively(authority.directory, async () => {
    const now = Date.now()
    const revoked = readIndex(authority).filter(({ state }) => state === 'R')
    const body = listBody(issuer, {
      number: await takeListNumber(authority, signal),
      from: new Date(now),
      next: new Date(now + days * DAY_MS),
      revoked: revoked.map(revokedOf),
    })
    return pemOf('X509 CRL', Buffer.from(signed(body, signer.algorithm, await signer.sign(body))))
  })
  const file = input.text('output') ?? join(authority.directory, 'crl.pem')
  if (file !== '-') await writeWhole(file, [Buffer.from(pem)], signal)
  output.result({ pem, ...(file !== '-' && { file }) }, () => (file === '-' ? pem : file))
}

const authorityOf = (input: OptionValues): Promise<Authority> => readAuthority(input.text('directory') ?? 'ca')

async function createSigner(api: Client, id: string): Promise<Signer> {
  const [key, pem] = await Promise.all([api.key(id), api.publicKey(id)])
  const publicKey = createPublicKey(pem)
  const dataBytes = key.public?.data === undefined ? undefined : fromBase64(key.public.data).length
  const modes = signModes({ ...key, ...(dataBytes !== undefined && { dataBytes }) })
  const mode = modes.find((mode) => algorithmOf(mode) !== null)
  if (mode === undefined)
    throw new Failure(
      EXIT.refused,
      `key ${id} may not sign certificates; it permits: ${key.mechanisms.join(', ')}`,
      'ECDSA_Signature, EdDSA_Signature or RSA_Signature_PKCS1_SHA256 can',
    )
  return {
    spki: publicKey.export({ type: 'spki', format: 'der' }),
    publicKey,
    algorithm: defined(algorithmOf(mode)),
    async sign(body) {
      const message = mode.hash === null ? body : createSha2(mode.hash).update(body).digest()
      const signature = fromBase64(await api.sign(id, { mode: mode.mode, message: toBase64(message) }))
      if (!isSignedBy(publicKey, mode.hash, body, signature))
        throw new Failure(EXIT.refused, 'the appliance’s signature is wrong: nothing was issued')
      return signature
    },
  }
}

function isSignedBy(key: KeyObject, hash: Sha2Name | null, data: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifySignature(hash, data, key, signature)
  } catch {
    return false // a signature of another kind of key
  }
}

function issuerOf({ certificate, listUrl }: Authority, { spki, algorithm }: Signer): Issuer {
  const own = new X509Certificate(certificate)
  if (!own.publicKey.export({ type: 'spki', format: 'der' }).equals(spki))
    throw new Failure(EXIT.refused, 'the appliance’s key is not that of the authority’s certificate')
  return { name: subjectOf(certificate), keyId: keyIdentifierOf(certificate) ?? keyIdOf(spki), algorithm, listUrl }
}

/** The subject's bytes of a certificate: an issued certificate has to name its issuer by the same bytes. */
function subjectOf(certificate: Buffer): Uint8Array {
  const fields = children(defined(children(whole(certificate, TAG.sequence).content)[0]).content)
  return defined(fields[5]).whole // after version, serial, algorithm, issuer, dates
}

function extensionOf(certificate: Buffer, type: string): Uint8Array | null {
  const fields = children(defined(children(whole(certificate, TAG.sequence).content)[0]).content)
  const list = fields.find(({ tag }) => tag === tagged(3))
  for (const extension of list === undefined ? [] : children(defined(children(list.content)[0]).content)) {
    const parts = children(extension.content)
    if (toHex(defined(parts[0]).content) === type) return defined(parts.at(-1)).content
  }
  return null
}

function keyIdentifierOf(certificate: Buffer): Uint8Array | null {
  const value = extensionOf(certificate, '551d0e')
  return value === null ? null : whole(value, TAG.octets).content
}

function expectMayMakeAuthorities(certificate: Buffer): void {
  const value = extensionOf(certificate, '551d13')
  const limit = value === null ? undefined : children(whole(value, TAG.sequence).content)[1]
  if (limit !== undefined && toHex(limit.content) === '00')
    throw new Failure(EXIT.refused, 'the authority may not make others: its path length is 0')
}

/** Well-formed, of a key that is good enough, and signed by that key. */
function verified(bytes: Buffer): CertificateRequest {
  let request: CertificateRequest
  try {
    request = readRequest(bytes)
  } catch (error) {
    throw new Failure(EXIT.refused, `the request is refused: ${(error as Error).message}`)
  }
  const key = publicKeyOf(request.key)
  if (!isSignedBy(key, request.hash, request.signed, request.signature))
    throw new Failure(EXIT.refused, 'the request is not signed by its own key, or was changed')
  return request
}

function publicKeyOf(spki: Uint8Array): KeyObject {
  let key: KeyObject
  try {
    key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch {
    throw new Failure(EXIT.refused, 'the request is refused: its public key is malformed')
  }
  // OpenSSL also reads other forms of the same key, which others do not.
  if (!key.export({ type: 'spki', format: 'der' }).equals(spki))
    throw new Failure(EXIT.refused, 'the request is refused: its public key is not in the usual form')
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const isTaken =
    type === 'ec' || type === 'ed25519' || (type === 'rsa' && defined(defined(details).modulusLength) >= RSA_BITS_MIN)
  if (!isTaken) throw new Failure(EXIT.refused, `the request is refused: its key is ${describe(key)}`)
  return key
}

const describe = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string =>
  [type, details?.modulusLength ?? details?.namedCurve].filter((part) => part !== undefined).join(' ')

function namesOf(written: readonly string[]): Name[] {
  try {
    return written.map(generalName)
  } catch (error) {
    throw usage((error as Error).message)
  }
}

function checkNames(use: Use, names: readonly Name[]): void {
  const kinds = use === 'server' ? ['DNS', 'IP'] : use === 'email' ? ['email'] : null
  if (kinds === null || names.some(({ kind }) => kinds.includes(kind))) return
  const what = use === 'server' ? 'a DNS name or address' : 'an email address'
  throw new Failure(EXIT.refused, `a certificate for ${use} has ${what}, and the request has none`, '--name NAME')
}

/** A file, or a serial number as `ca list` shows it. */
function serialOf(text: string, authority: Authority): string {
  if (/^([0-9A-Fa-f]{2}){4,20}$/.test(text)) return text.toUpperCase()
  const certificate = certificateIn(readFileSync(text))
  if (!certificate.checkIssued(new X509Certificate(authority.certificate)))
    throw new Failure(EXIT.refused, 'the certificate is not one of this authority')
  return certificate.serialNumber
}

function certificateIn(bytes: Buffer): X509Certificate {
  try {
    return new X509Certificate(bytes)
  } catch {
    throw new Failure(EXIT.refused, 'no certificate in PEM or DER')
  }
}

function revokedOf({ serial, revoked }: IndexEntry): { serial: Uint8Array; at: Date; reason?: Reason } {
  const [at, reason] = revoked.split(',')
  return {
    serial: Buffer.from(serial, 'hex'),
    at: timeOfIndex(defined(at)),
    ...(reason && { reason: reason as Reason }),
  }
}

/** Positive, of 126 random bits, and as long each time: RFC 5280 section 4.1.2.2. */
function newSerial(): Uint8Array {
  const serial = randomBytes(SERIAL_BYTES)
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

const hexOf = (serial: Uint8Array): string => toHex(serial).toUpperCase()

function daysOf(input: OptionValues, days: number): number {
  const wanted = input.number('days') ?? days
  if (wanted < 1 || wanted > DAYS_MAX) throw usage(`--days: from 1 to ${DAYS_MAX}`)
  return wanted
}

/** Whole seconds, as certificates have them. */
function validity(now: number, days: number): Pick<CertificateBody, 'notBefore' | 'notAfter'> {
  const seconds = (ms: number) => new Date(Math.floor(ms / 1000) * 1000)
  return { notBefore: seconds(now - EARLIER_MS), notAfter: seconds(now + days * DAY_MS) }
}

const pemOf = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`
