/** A key in answers, with the members that `/config/vocabulary` selects. Contract sections 4.6 and 5 (rows 1, 7, 8, 23). */

import type { z } from 'zod'
import { encodeBase64 } from '../../base/base64.ts'
import type { Vocabulary } from '../../configuration/vocabulary.ts'
import type { PublicKey } from '../../crypto/types.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import type { key, keyList } from './key-schemas.ts'
import type { Services } from './services.ts'

type Key = z.infer<typeof key>

export const membersOf = ({ services }: { services: Services }): Vocabulary => services.appliance.configuration.members

export const nameKey = (id: string, members: Vocabulary): z.infer<typeof keyList>[number] => NAMES[members](id)

const NAMES: Record<Vocabulary, (id: string) => z.infer<typeof keyList>[number]> = {
  both: (id) => ({ id, key: id }),
  reference: (id) => ({ id }),
  original: (key) => ({ key }),
}

export function show(entry: Readonly<KeyEntry>, publicKey: PublicKey, members: Vocabulary): Key {
  const { operations } = entry
  const mechanisms = [...entry.mechanisms]
  return {
    mechanisms,
    ...(members !== 'original' && reference(entry, publicKey)),
    ...(members !== 'reference' && original(entry, publicKey)),
    operations,
  }
}

function reference({ typeName, tags, label }: Readonly<KeyEntry>, publicKey: PublicKey): Partial<Key> {
  return {
    type: typeName,
    restrictions: tags.length === 0 ? {} : { tags: [...tags] },
    ...(publicKey !== null && { public: encodePublic(publicKey) }),
    ...(label !== '' && { label }),
  }
}

/** EC keys have no public members here: clients read `public.pem`. */
function original({ typeName }: Readonly<KeyEntry>, publicKey: PublicKey): Partial<Key> {
  const isRsa = publicKey !== null && 'modulus' in publicKey
  return { algorithm: typeName, ...(isRsa && encodePublic(publicKey)) }
}

export function encodePublic<T extends NonNullable<PublicKey>>(publicKey: T): { [Name in keyof T]: string } {
  const fields = Object.entries<Uint8Array>(publicKey as Record<string, Uint8Array>)
  return Object.fromEntries(fields.map(([name, bytes]) => [name, encodeBase64(bytes)])) as { [Name in keyof T]: string }
}
