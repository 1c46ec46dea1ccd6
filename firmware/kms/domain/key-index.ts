/** The index of stored keys: what every request finds without opening a record. Built at unlock. */

import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { decodeKey, type KeyMetadata } from './key-record.ts'
import { SortedIds } from './sorted-ids.ts'

/** A key in the index; changed in place, and only after the change is on disk. */
export interface KeyEntry extends KeyMetadata {
  /** Names this key and its content to the crypto pool; never reused while the process lives. */
  readonly ref: number
  version: number
}

/** The keys of one namespace. */
export interface NamespaceKeys {
  readonly namespace: Namespace
  readonly entries: Map<string, KeyEntry>
  readonly ids: SortedIds
  /** Of the list as a whole. */
  version: number
}

/** Outlives a lock, as the workers do. */
let lastRef = 0

export const nextRef = (): number => ++lastRef

export class KeyIndex {
  readonly #context: Context
  readonly #namespaces = new Map<Namespace, NamespaceKeys>()

  constructor(context: Context) {
    this.#context = context
    const intern = createInterning()
    const entries = new Map<Namespace, Map<string, KeyEntry>>()
    for (const value of context.records.list('keys')) {
      const key = decodeKey(value)
      const entry: KeyEntry = {
        namespace: intern.text(key.namespace),
        id: key.id,
        type: key.type,
        typeName: key.typeName,
        mechanisms: intern.list(key.mechanisms),
        tags: intern.list(key.tags),
        label: intern.text(key.label),
        operations: key.operations,
        certificate: key.certificate,
        ref: nextRef(),
        version: context.nextVersion(),
      }
      let ofNamespace = entries.get(entry.namespace)
      if (ofNamespace === undefined) {
        ofNamespace = new Map()
        entries.set(entry.namespace, ofNamespace)
      }
      ofNamespace.set(entry.id, entry)
    }
    for (const [namespace, ofNamespace] of entries) this.#add(namespace, ofNamespace)
  }

  /** Those of a namespace that exists; empty before its first key. */
  of(namespace: Namespace): NamespaceKeys {
    return this.#namespaces.get(namespace) ?? this.#add(namespace, new Map())
  }

  /** False once the namespace was deleted, even if one of the same name was created since. */
  holds(namespaceKeys: NamespaceKeys): boolean {
    return this.#namespaces.get(namespaceKeys.namespace) === namespaceKeys
  }

  drop(namespace: Namespace): void {
    this.#namespaces.delete(namespace)
  }

  #add(namespace: Namespace, entries: Map<string, KeyEntry>): NamespaceKeys {
    const namespaceKeys = {
      namespace,
      entries,
      ids: new SortedIds(entries.keys()),
      version: this.#context.nextVersion(),
    }
    this.#namespaces.set(namespace, namespaceKeys)
    return namespaceKeys
  }
}

/** Keys share few sets of mechanisms, tags and labels: equal ones are held once. */
function createInterning(): {
  text: (text: string) => string
  list: <T extends string>(list: readonly T[]) => readonly T[]
} {
  const texts = new Map<string, string>()
  const lists = new Map<string, readonly string[]>()
  const held = <V>(map: Map<string, V>, name: string, value: V): V => {
    const known = map.get(name)
    if (known !== undefined) return known
    map.set(name, value)
    return value
  }
  return {
    text: (text) => held(texts, text, text),
    list: <T extends string>(list: readonly T[]) => held(lists, list.join(), list) as readonly T[],
  }
}
