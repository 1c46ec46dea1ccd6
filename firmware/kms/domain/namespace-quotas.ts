/** How many keys and users a namespace may have, as administrators outside any namespace set it. Contract sections 3.3 and 7.3. */

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

/** Some 40 MB of keys, so that several namespaces fit on the disk of a small device. */
export const QUOTA_DEFAULT: Readonly<Quota> = { keys: 10_000, users: 1000 }
export const QUOTA_MAX = 10_000_000

/** Beside the backup key, whose name has no slash: versions that know no quotas pass over these records. */
const recordName = (id: Namespace): string => `quota/${id}`

export class NamespaceQuotas {
  readonly #context: Context
  readonly #namespaces: Namespaces

  constructor(context: Context, namespaces: Namespaces) {
    this.#context = context
    this.#namespaces = namespaces
  }

  /** Throws `storage` when its record is damaged. */
  get(id: Namespace): Quota {
    const value = this.#context.records.get('configuration', recordName(id))
    return value === null ? QUOTA_DEFAULT : (JSON.parse(new TextDecoder().decode(value)) as Quota)
  }

  /** Sets the given quotas. Keys and users beyond them stay. Throws `notFound`. */
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

  /** Throws `full` when the namespace has as many as it may. Root has no quota, and users made before their namespace have none. */
  assertRoom(id: Namespace, kind: keyof Quota, count: number): void {
    if (id === '' || !this.#namespaces.exists(id)) return
    const quota = this.get(id)[kind]
    if (count >= quota) throw new CofferError('full', `The namespace may have no more than ${quota} ${kind}`)
  }
}

/** Part of the namespace's removal: one that is made anew has the default. */
export function quotaRemoval({ records }: Context, id: Namespace): RecordChange[] {
  const isSet =
    records.isDamaged('configuration', recordName(id)) || records.get('configuration', recordName(id)) !== null
  return isSet ? [{ collection: 'configuration', name: recordName(id), value: null }] : []
}
