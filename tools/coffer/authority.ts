/**
 * Files of an authority: its certificate, and the certificates it has issued and revoked. `index.txt` and `crlnumber` are as OpenSSL's `ca`
 * has them (see its CA_default), so that its programs read them, too. The key is in the appliance.
 */

import { appendFileSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '../../firmware/base/defined.ts'
import { toHex } from '../../firmware/client/bytes.ts'
import { EXIT, Failure } from './failure.ts'
import { writeWhole } from './files.ts'

export interface Authority {
  directory: string
  key: string
  /** DER. */
  certificate: Buffer
  listUrl?: string
}

/** A line of `index.txt`. */
export interface IndexEntry {
  /** Valid, revoked, or expired: OpenSSL's `updatedb` sets that. */
  state: 'V' | 'R' | 'E'
  /** `YYMMDDHHMMSSZ`, or with four digits of the year from 2050 on. */
  notAfter: string
  /** The same, and after a comma the reason; empty unless revoked. */
  revoked: string
  /** Hex, as long as it is. */
  serial: string
  subject: string
}

const SETTINGS = 'authority.json'
const CERTIFICATE = 'ca.pem'
const INDEX = 'index.txt'
const NUMBER = 'crlnumber'
const ISSUED = 'issued'
const LOCK = 'lock'

export const certificateFile = (directory: string): string => join(directory, CERTIFICATE)
const issuedFile = ({ directory }: Authority, serial: string): string => join(directory, ISSUED, `${serial}.pem`)

export async function createAuthority(authority: Authority, pem: string, signal: AbortSignal): Promise<void> {
  const { directory, key, listUrl } = authority
  if (statSync(join(directory, SETTINGS), { throwIfNoEntry: false }) !== undefined)
    throw new Failure(EXIT.refused, `there is an authority in ${directory}`, '--directory names another place')
  mkdirSync(join(directory, ISSUED), { recursive: true })
  const write = (name: string, text: string) => writeWhole(join(directory, name), [Buffer.from(text)], signal)
  await write(INDEX, '')
  await write(`${INDEX}.attr`, 'unique_subject = no\n') // a certificate may be followed by another of the same subject
  await write(NUMBER, '01\n')
  await write(CERTIFICATE, pem)
  await write(SETTINGS, `${JSON.stringify({ key, ...(listUrl && { crl: listUrl }) }, null, 2)}\n`)
}

export async function readAuthority(directory: string): Promise<Authority> {
  const { X509Certificate } = await import('node:crypto')
  try {
    const { key, crl } = JSON.parse(readFileSync(join(directory, SETTINGS), 'utf8')) as { key: unknown; crl?: unknown }
    if (typeof key !== 'string') throw new Error('no key is named')
    const certificate = new X509Certificate(readFileSync(join(directory, CERTIFICATE))).raw
    return { directory, key, certificate, ...(typeof crl === 'string' && { listUrl: crl }) }
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (isAbsent) throw new Failure(EXIT.refused, `no authority in ${directory}`, 'coffer ca init KEY; --directory')
    throw new Failure(EXIT.refused, `the authority in ${directory} is damaged: ${(error as Error).message}`)
  }
}

export function readIndex({ directory }: Authority): IndexEntry[] {
  const lines = readFileSync(join(directory, INDEX), 'utf8').split('\n').filter(Boolean)
  return lines.map((line) => {
    const [state, notAfter, revoked, serial, , subject] = line.split('\t')
    const isWhole = /^[VRE]$/.test(state ?? '') && /^([0-9A-F]{2})+$/.test(serial ?? '') && subject !== undefined
    if (!isWhole) throw new Failure(EXIT.refused, `a line of ${join(directory, INDEX)} is damaged: ${line}`)
    return {
      state: state as IndexEntry['state'],
      notAfter: defined(notAfter),
      revoked: defined(revoked),
      serial: defined(serial),
      subject,
    }
  })
}

/** On disk before the certificate is handed out: what is not in the index cannot be revoked by its number. */
export async function addIssued(
  authority: Authority,
  entry: IndexEntry,
  pem: string,
  signal: AbortSignal,
): Promise<void> {
  await writeWhole(issuedFile(authority, entry.serial), [Buffer.from(pem)], signal)
  const descriptor = openSync(join(authority.directory, INDEX), 'a')
  try {
    appendFileSync(descriptor, lineOf(entry))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export const writeIndex = (
  { directory }: Authority,
  entries: readonly IndexEntry[],
  signal: AbortSignal,
): Promise<void> => writeWhole(join(directory, INDEX), [Buffer.from(entries.map(lineOf).join(''))], signal)

const lineOf = ({ state, notAfter, revoked, serial, subject }: IndexEntry): string =>
  `${[state, notAfter, revoked, serial, 'unknown', subject].join('\t')}\n`

export async function takeListNumber({ directory }: Authority, signal: AbortSignal): Promise<Uint8Array> {
  const text = readFileSync(join(directory, NUMBER), 'utf8').trim()
  if (!/^([0-9A-Fa-f]{2}){1,19}$/.test(text)) throw new Failure(EXIT.refused, `${join(directory, NUMBER)} is damaged`)
  const next = (BigInt(`0x${text}`) + 1n).toString(16).toUpperCase()
  await writeWhole(join(directory, NUMBER), [Buffer.from(`${next.length % 2 ? '0' : ''}${next}\n`)], signal)
  return Buffer.from(text, 'hex')
}

/** One at a time: the index is read and written. */
export async function exclusively<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const lock = join(directory, LOCK)
  try {
    closeSync(openSync(lock, 'wx'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Failure(EXIT.refused, 'another one is at work on the authority', `if none is, one was killed: rm ${lock}`)
  }
  try {
    return await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** As the index has times: RFC 5280 section 4.1.2.5. */
export function indexTime(date: Date): string {
  const digits = `${date.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  return date.getUTCFullYear() >= 2050 ? digits : digits.slice(2)
}

export function timeOfIndex(text: string): Date {
  const [, year = '', rest = ''] = /^(\d{2}|\d{4})(\d{10})Z$/.exec(text) ?? []
  const [month, day, hour, minute, second] = rest.match(/../g) ?? []
  return new Date(`${year.length === 2 ? `20${year}` : year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

/** `CN=…, O=…` as OpenSSL has subjects in the index: other characters than ASCII by their bytes. */
export function indexSubject(subject: string): string {
  const escaped = subject.replace(/[^\x20-\x5b\x5d-\x7e]/gu, (character) =>
    toHex(Buffer.from(character)).toUpperCase().replace(/../g, '\\x$&'),
  )
  return `/${escaped.split(', ').join('/')}`
}
