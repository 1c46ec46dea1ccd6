/** The organization's key for push services, and the tokens by which it identifies itself to them: RFC 8292. */

import { createECDH, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { seal, unseal } from '../../crypto/seal.ts'
import { nowOf, type Realm } from '../realm/model/realm.ts'
import { organizationOf } from '../realm/model/state.ts'

const KEY_BYTES = 32
const VALID_S = 43_200 // RFC 8292 permits a day
const RENEW_S = 3600 // before the end: the clock of a push service may be ahead
const TOKENS_MAX = 100 // one for each push service

interface PushTokens {
  /** Uncompressed point, base64url. Makes and stores the key at the first call. */
  publicKey(): string
  /** Value of the header `authorization` for the endpoint. */
  authorization(endpoint: string, contact: string): string
}

export function createPushTokens(realm: Realm): PushTokens {
  let key: { publicKey: string; privateKey: KeyObject } | undefined
  const tokens = new Map<string, { token: string; expires: number }>()

  function keyPair() {
    if (key === undefined) {
      const secret = openKey(realm)
      key = keyPairOf(secret)
      wipe(secret)
    }
    return key
  }

  function tokenFor(audience: string, contact: string): string {
    const now = nowOf(realm)
    const name = `${audience} ${contact}`
    const known = tokens.get(name)
    if (known !== undefined && now < known.expires - RENEW_S && known.expires <= now + VALID_S) return known.token
    const expires = now + VALID_S
    const text = `${encode({ typ: 'JWT', alg: 'ES256' })}.${encode({ aud: audience, exp: expires, sub: contact })}`
    const signature = sign('sha256', Buffer.from(text), { key: keyPair().privateKey, dsaEncoding: 'ieee-p1363' })
    const token = `${text}.${signature.toString('base64url')}`
    if (tokens.size >= TOKENS_MAX) tokens.clear()
    tokens.set(name, { token, expires })
    return token
  }

  return {
    publicKey: () => keyPair().publicKey,
    authorization: (endpoint, contact) =>
      `vapid t=${tokenFor(new URL(endpoint).origin, contact)}, k=${keyPair().publicKey}`,
  }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Throws `storage` if the stored key cannot be opened. The caller wipes the key. */
function openKey(realm: Realm): Uint8Array {
  const { sealedPushKey } = organizationOf(realm.state)
  if (sealedPushKey !== undefined) {
    const secret = unseal(realm.secretsKey, Buffer.from(sealedPushKey, 'base64'))
    if (secret === null) throw new CofferError('storage', 'The key for push services cannot be opened')
    return secret
  }
  const secret = newSecret(realm)
  const sealed = Buffer.from(seal(realm.secretsKey, secret, realm.random)).toString('base64')
  realm.transaction((tx) => tx.put('organization', { ...organizationOf(realm.state), sealedPushKey: sealed }))
  return secret
}

/** Tries again for a number that is not below the order of the curve: one in 2^32. */
function newSecret({ random }: Realm): Uint8Array {
  for (;;) {
    const secret = random(KEY_BYTES)
    try {
      createECDH('prime256v1').setPrivateKey(secret)
      return secret
    } catch {
      wipe(secret)
    }
  }
}

function keyPairOf(secret: Uint8Array): { publicKey: string; privateKey: KeyObject } {
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(secret)
  const point = pair.getPublicKey()
  const x = point.toString('base64url', 1, 1 + KEY_BYTES)
  const y = point.toString('base64url', 1 + KEY_BYTES)
  const d = Buffer.from(secret).toString('base64url')
  const privateKey = createPrivateKey({ key: { kty: 'EC', crv: 'P-256', x, y, d }, format: 'jwk' })
  return { publicKey: point.toString('base64url'), privateKey }
}
