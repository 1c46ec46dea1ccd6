/**
 * Remembers correct credentials for a short time, because clients send them with each request and a derivation is slow. Stores hashes only,
 * keyed with a random key in memory. Contract section 7.2.
 */

import { hash } from 'node:crypto'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'

const REMEMBERED_MS = 300_000 // after the last use
const REMEMBERED_MS_MAX = 12 * 3_600_000 // since the last derivation: one per working day queues with those of unauthenticated clients
const RENEWED_MS = 60_000 // minimum age for an extension; extending at each request would cost too much
const REMEMBERED_MAX = 10_000 // users; about 3 MB

const KEY_BYTES = 32
const scratch = Buffer.alloc(1024) // reused for each request; wiped after each use

interface Remembered {
  mac: string
  derivedMs: number
  usedMs: number
}

export interface RememberedCredentials {
  /** Identifies credentials by user, salt of the user's digest, and passphrase. */
  mac(userId: string, salt: Uint8Array, passphrase: Uint8Array): string
  has(userId: string): boolean
  /** True if the credentials are remembered, which extends their time. */
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
     * Hex hash with the key as prefix. Length extension would require a known hash, and hashes are never exposed. Each new passphrase has a
     * new salt, so older ones are forgotten. User ids have no zero byte and salts have one length, so the input is unambiguous.
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
