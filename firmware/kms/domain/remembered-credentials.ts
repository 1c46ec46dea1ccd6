/**
 * Credentials that were right, remembered for a short time: clients send them with each request, and to derive is slow. What is
 * kept is a hash under a key of this memory alone. Contract section 7.2.
 */

import { hash } from 'node:crypto'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'

const REMEMBERED_MS = 300_000 // after the last use: clients send credentials with each request
const REMEMBERED_MS_MAX = 12 * 3_600_000 // since the last derivation: one in a working day waits beside those of unauthenticated clients
const RENEWED_MS = 60_000 // from here on a use extends it: each request would be too often
const REMEMBERED_MAX = 10_000 // users; about 3 MB

const KEY_BYTES = 32
const scratch = Buffer.alloc(1024) // every request comes with credentials; wiped after each use

interface Remembered {
  mac: string
  derivedMs: number
  usedMs: number
}

export interface RememberedCredentials {
  /** Of a user, the salt of his digest and a passphrase: what they are remembered by. */
  mac(userId: string, salt: Uint8Array, passphrase: Uint8Array): string
  /** Whether there are any of this user's. */
  has(userId: string): boolean
  /** And extends that. */
  includes(userId: string, mac: string): boolean
  add(userId: string, mac: string): void
  close(): void
}

export function createRememberedCredentials(random: Random, monotonicMs: () => number): RememberedCredentials {
  const key = random(KEY_BYTES)
  /** By user id, least recently used first. */
  const remembered = new Map<string, Remembered>()

  return {
    /**
     * A hash with the key in front, in hex. Unlike HMAC it could be continued by who is shown it, and nobody is; nor can
     * anybody without the key make one that begins like another. The salt changes with every passphrase set, so an older
     * one is forgotten with it. User ids hold no zero byte and salts have one length: no two triples give the same bytes.
     */
    mac(userId, salt, passphrase) {
      const idAt = KEY_BYTES
      const saltAt = idAt + userId.length + 1
      const passphraseAt = saltAt + salt.length
      const end = passphraseAt + passphrase.length
      const keyed = end <= scratch.length ? scratch : Buffer.alloc(end)
      keyed.set(key)
      keyed.write(`${userId}\0`, idAt, 'latin1')
      keyed.set(salt, saltAt)
      keyed.set(passphrase, passphraseAt)
      const mac = hash('sha256', keyed.subarray(0, end), 'hex')
      keyed.fill(0, 0, end)
      return mac
    },
    has: (userId) => remembered.has(userId),
    includes(userId, mac) {
      const known = remembered.get(userId)
      if (known?.mac !== mac) return false
      const nowMs = monotonicMs()
      if (isForgotten(known, nowMs)) return false
      if (nowMs - known.usedMs > RENEWED_MS) {
        known.usedMs = nowMs
        remembered.delete(userId)
        remembered.set(userId, known)
      }
      return true
    },
    add(userId, mac) {
      const nowMs = monotonicMs()
      remembered.delete(userId)
      for (const [oldest, known] of remembered) {
        if (!isForgotten(known, nowMs) && remembered.size < REMEMBERED_MAX) break
        remembered.delete(oldest)
      }
      remembered.set(userId, { mac, derivedMs: nowMs, usedMs: nowMs })
    },
    close: () => {
      wipe(key)
      remembered.clear()
    },
  }
}

const isForgotten = ({ derivedMs, usedMs }: Remembered, nowMs: number): boolean =>
  nowMs - usedMs >= REMEMBERED_MS || nowMs - derivedMs >= REMEMBERED_MS_MAX
