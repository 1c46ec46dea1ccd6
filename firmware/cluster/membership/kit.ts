/**
 * A text with all that a node needs to join: format, salt of the backup passphrase, and the rest sealed by a key that is made of the
 * backup key. Slot 0 in it is sealed by the unlock passphrase, so that it takes both to come to the domain key.
 */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import * as z from 'zod'
import { encodeBase64, readBase64 } from '../../base/base64.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { deriveSealKey, SEAL_OVERHEAD_BYTES, seal, unseal } from '../../crypto/seal.ts'

const FORMAT = 1
const SALT_BYTES = 16 // of a backup passphrase
const SEALED_OFFSET = 1 + SALT_BYTES

const id = z.string().regex(/^[0-9a-f]{1,16}$/)
const hex = z.string().regex(/^([0-9A-Fa-f]{2})+$/)

const schema = z.object({
  /** The domain key sealed by the unlock passphrase of the node that made this: store/key-slots.ts. */
  slot: z.base64(),
  /** The cluster's, for etcd's first start. */
  token: z.string(),
  clusterId: id,
  /** The member that joins with it. */
  memberId: id,
  /** The generation of the records at that moment. */
  generation: hex,
  head: z.object({
    format: z.int(),
    n: z.int().nonnegative(),
    sets: z.record(z.string(), z.tuple([z.int().nonnegative(), z.base64()]).readonly()),
  }),
  /** etcd's revision at which the head was written. */
  revision: z.int().positive(),
  /** SHA-256 of the head as it lies there. */
  digest: hex,
})

export type JoinerKit = z.output<typeof schema>

export function sealKit(kit: JoinerKit, { salt, key }: { salt: Uint8Array; key: Uint8Array }, random: Random): string {
  if (salt.length !== SALT_BYTES) throw new RangeError(`salt must have ${SALT_BYTES} bytes`)
  const kitKey = kitKeyOf(key)
  try {
    const sealed = seal(kitKey, utf8ToBytes(JSON.stringify(kit)), random)
    return encodeBase64(concatBytes(Uint8Array.of(FORMAT), salt, sealed))
  } finally {
    wipe(kitKey)
  }
}

interface SealedKit {
  /** The salt of the backup passphrase that opens it. */
  salt: Uint8Array
  /** Throws `invalid` when it is another key, or the kit was edited. */
  open(backupKey: Uint8Array): JoinerKit
}

/** Throws `invalid` for what is no joiner kit. */
export function readKit(text: string): SealedKit {
  const bytes = readBase64(text)
  if (bytes === null || bytes.length < SEALED_OFFSET + SEAL_OVERHEAD_BYTES)
    throw new CofferError('invalid', 'joinerKit: not a joiner kit')
  if (bytes[0] !== FORMAT) throw new CofferError('invalid', 'joinerKit: of a version that this software does not know')
  return {
    salt: bytes.slice(1, SEALED_OFFSET),
    open(backupKey) {
      const kitKey = kitKeyOf(backupKey)
      try {
        const opened = unseal(kitKey, bytes.subarray(SEALED_OFFSET))
        if (opened === null) throw new CofferError('invalid', 'Wrong backup passphrase, or the joiner kit is damaged')
        return parsed(opened)
      } finally {
        wipe(kitKey)
      }
    },
  }
}

const kitKeyOf = (backupKey: Uint8Array): Uint8Array => deriveSealKey(backupKey, 'coffer joiner kit')

/** Anyone who knows the backup passphrase can seal any text. */
function parsed(bytes: Uint8Array): JoinerKit {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    throw unknownKit()
  }
  const result = schema.safeParse(value)
  if (!result.success) throw unknownKit()
  return result.data
}

const unknownKit = (): CofferError => new CofferError('invalid', 'The joiner kit was not made by this software')
