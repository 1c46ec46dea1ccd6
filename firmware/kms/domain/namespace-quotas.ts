/** Limits of keys and users in a namespace, set by administrators outside any namespace. Contract sections 3.3 and 7.3. */

import { CofferError } from '../../base/error.ts'
import type { RecordChange } from './collections.ts'
import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import type { Namespaces } from './namespaces.ts'
import type { Caller } from './roles.ts'

interface Quota {
  keys: number
  users: number
}

/** About 40 MB of keys, so that several namespaces fit on the disk of a small device. */
export const QUOTA_DEFAULT: Readonly<Quota> = { keys: 10_000, users: 1000 }
export const QUOTA_MAX = 10_000_000

/** Stored in the collection of the backup key, whose name has no slash. Versions without quotas ignore these records. */
const recordName = (id: Namespace): string => `quota/${id}`

export class NamespaceQuotas {
  readonly #context: Context
  readonly #namespaces: Namespaces

  constructor(context: Context, namespaces: Namespaces) {
    this.#context = context
    this.#namespaces = namespaces
  }

  /** Throws `storage` if the record is damaged. */
  get(id: Namespace): Quota {
    const value = this.#context.records.get('configuration', recordName(id))
    return value === null ? QUOTA_DEFAULT : (JSON.parse(new TextDecoder().decode(value)) as Quota)
  }

  /** Existing keys and users beyond the quota stay. Throws `notFound`. */
  async set(caller: Caller, id: Namespace, input: { [name in keyof Quota]?: number | undefined }): Promise<void> {
    const quota = await this.#context.records.change(() => {
      this.#namespaces.assertExists(id)
      const { keys, users } = this.get(id)
      const quota: Quota = { keys: input.keys ?? keys, users: input.users ?? users }
      const value = new TextEncoder().encode(JSON.stringify(quota))
      return { changes: [{ collection: 'configuration', name: recordName(id), value }], result: quota }
    })
    const { keys, users } = quota
    this.#context.log.info('namespaces', `quota of ${id}: ${keys} keys, ${users} users, by ${caller.userId}`)
  }

  /** Throws `full` if the quota is reached. Root has no quota, nor have users that were created before their namespace. */
  assertRoom(id: Namespace, kind: keyof Quota, count: number): void {
    if (id === '' || !this.#namespaces.exists(id)) return
    const quota = this.get(id)[kind]
    if (count >= quota) throw new CofferError('full', `The namespace may have no more than ${quota} ${kind}`)
  }
}

/** Deletes the quota with its namespace: a new namespace of the same name has the default. */
export function quotaRemoval({ records }: Context, id: Namespace): RecordChange[] {
  const isSet =
    records.isDamaged('configuration', recordName(id)) || records.get('configuration', recordName(id)) !== null
  return isSet ? [{ collection: 'configuration', name: recordName(id), value: null }] : []
}
