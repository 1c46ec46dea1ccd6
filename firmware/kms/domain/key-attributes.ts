/** Changes of an existing key: label, tags and certificate. Contract sections 4.4, 4.6 and 6.6. */

import { CofferError } from '../../base/error.ts'
import type { RecordChange } from './collections.ts'
import { keyName } from './identifiers.ts'
import { KeyDirectory } from './key-directory.ts'
import type { KeyEntry } from './key-index.ts'
import {
  type CertificateType,
  decodeKey,
  decodePublic,
  encodeKey,
  KEY_TAGS_MAX,
  type KeyMetadata,
} from './key-record.ts'
import type { Caller } from './roles.ts'

export class KeyAttributes extends KeyDirectory {
  /** Returns false if the key has this label already. */
  async setLabel(caller: Caller, id: string, label: string): Promise<boolean> {
    const isChanged = await this.#update(caller, id, (entry) => (entry.label === label ? null : { label }))
    if (isChanged) this.log(caller, `changed the label of ${id} by ${caller.userId}`)
    return isChanged
  }

  /** Returns false if the key has the tag already. Throws `invalid` if it has too many. */
  async addTag(caller: Caller, id: string, tag: string): Promise<boolean> {
    const isChanged = await this.#update(caller, id, ({ tags }) => {
      if (tags.includes(tag)) return null
      if (tags.length >= KEY_TAGS_MAX)
        throw new CofferError('invalid', `A key may have ${KEY_TAGS_MAX} tags: delete one first`)
      return { tags: [...tags, tag].sort() }
    })
    if (isChanged) this.log(caller, `added tag ${tag} to ${id} by ${caller.userId}`)
    return isChanged
  }

  /** Throws `notFound` for a missing key or tag. */
  async removeTag(caller: Caller, id: string, tag: string): Promise<void> {
    await this.#update(caller, id, ({ tags }) => {
      if (!tags.includes(tag)) throw new CofferError('notFound', 'The key does not have this tag')
      return { tags: tags.filter((other) => other !== tag) }
    })
    this.log(caller, `removed tag ${tag} from ${id} by ${caller.userId}`)
  }

  /** Throws `conflict` if the key has a certificate, which must be deleted first. */
  async setCertificate(caller: Caller, id: string, type: CertificateType, bytes: Uint8Array): Promise<void> {
    const change = ({ certificate }: Readonly<KeyEntry>) => {
      if (certificate !== null) throw new CofferError('conflict', 'The key already has a certificate')
      return { certificate: type }
    }
    await this.#update(caller, id, change, bytes)
    this.log(caller, `stored the certificate of ${id} by ${caller.userId}`)
  }

  /** Throws `notFound` for a missing key or certificate. */
  async removeCertificate(caller: Caller, id: string): Promise<void> {
    const change = () => {
      this.certificateType(caller.namespace, id)
      return { certificate: null }
    }
    await this.#update(caller, id, change, null)
    this.log(caller, `removed the certificate of ${id} by ${caller.userId}`)
  }

  /** `decide` returns the change, or null for none. `certificate`: the new one, or null to remove it. */
  #update(
    { namespace }: Caller,
    id: string,
    decide: (entry: Readonly<KeyEntry>) => Partial<KeyMetadata> | null,
    certificate?: Uint8Array | null,
  ): Promise<boolean> {
    return this.context.records.change(() => {
      const entry = this.firstEntry(namespace, id)
      const change = decide(entry)
      if (change === null) return { changes: [], result: false }
      const stored = this.read('keys', entry)
      const name = keyName(namespace, id)
      const value = encodeKey({ ...decodeKey(stored), ...change }, decodePublic(stored))
      const changes: RecordChange[] = [{ collection: 'keys', name, value }]
      if (certificate !== undefined) changes.push({ collection: 'certificates', name, value: certificate })
      return { changes, result: true }
    })
  }

  protected log({ namespace }: Caller, text: string): void {
    this.context.log.info('keys', namespace === '' ? text : `${text} in namespace ${namespace}`)
  }
}
