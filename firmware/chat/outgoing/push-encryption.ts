/**
 * Encryption of notifications for one browser: RFC 8291, with the coding aes128gcm of RFC 8188 in one record. All bodies have one length, so
 * that a push service learns nothing from it.
 */

import { createCipheriv, createECDH, hkdfSync } from 'node:crypto'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import type { WebPushSubscription } from '../realm/model/records.ts'

const POINT_BYTES = 65 // of P-256, uncompressed
const POINT = /^[\w-]{87}$/ // base64url without padding
const UNCOMPRESSED = 4 // first byte
const AUTH = /^[\w-]{22}$/
const CURVE = 'prime256v1'
const SALT_BYTES = 16
const TAG_BYTES = 16
const RECORD_BYTES_MAX = 4096 // declared; the only record is shorter
const LAST_RECORD = 2 // delimiter before the padding, RFC 8188 section 2
/** Holds the longest text: 420 characters of four bytes, and the members' names. Push services take 4096 bytes. */
export const TEXT_BYTES_MAX = 2047
const HEADER_BYTES = SALT_BYTES + 4 + 1 + POINT_BYTES

/** `text` has at most `TEXT_BYTES_MAX` bytes. Throws for a `p256dh` that is no point of the curve. */
export function encryptPush(
  text: Uint8Array,
  { p256dh, auth }: Pick<WebPushSubscription, 'p256dh' | 'auth'>,
  random: Random,
): Uint8Array<ArrayBuffer> {
  const browserKey = Buffer.from(p256dh, 'base64url')
  const sender = createECDH(CURVE)
  const senderKey = sender.generateKeys()
  const shared = sender.computeSecret(browserKey)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browserKey, senderKey])
  const secret = derive(shared, Buffer.from(auth, 'base64url'), info, 32)
  const salt = random(SALT_BYTES)
  const key = derive(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = derive(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  try {
    const padded = new Uint8Array(TEXT_BYTES_MAX + 1)
    padded.set(text)
    padded[text.length] = LAST_RECORD
    const cipher = createCipheriv('aes-128-gcm', key, nonce)
    const body = Buffer.alloc(HEADER_BYTES + padded.length + TAG_BYTES)
    body.set(salt)
    body.writeUInt32BE(RECORD_BYTES_MAX, SALT_BYTES)
    body.writeUInt8(POINT_BYTES, SALT_BYTES + 4)
    body.set(senderKey, SALT_BYTES + 5)
    body.set(cipher.update(padded), HEADER_BYTES)
    cipher.final()
    body.set(cipher.getAuthTag(), HEADER_BYTES + padded.length)
    wipe(padded)
    return new Uint8Array(body)
  } finally {
    for (const secretBytes of [shared, secret, key, nonce]) wipe(secretBytes)
  }
}

/** True if the base64url text is a point of P-256 as browsers write it. */
export function isPoint(p256dh: string): boolean {
  if (!POINT.test(p256dh)) return false
  const point = Buffer.from(p256dh, 'base64url')
  if (point[0] !== UNCOMPRESSED) return false
  const own = createECDH(CURVE)
  own.generateKeys()
  try {
    wipe(own.computeSecret(point))
    return true
  } catch {
    return false
  }
}

/** True if the text is base64url of 16 bytes. */
export const isAuthSecret = (auth: string): boolean => AUTH.test(auth)

const derive = (secret: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, salt, info, bytes))
