/** Where in the order of changes a node is: kept with its records, in the same transactions. */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CLUSTER_POSITION, type DeviceArea } from '../../store/device-area.ts'

/** What was adopted last. */
export interface Position {
  /** Of the records: where they lie in etcd. */
  generation: string
  /** That its head was written at. */
  revision: number
  /** Of its head. */
  id: string
}

export interface PositionRow {
  /** Null for a node that has never adopted anything. */
  read(): Position | null
  /** Call within a transaction. */
  put(position: Position): void
  /** What lies here is neither what was, nor what is to be. Call within a transaction. */
  remove(): void
}

export const openPosition = (device: Pick<DeviceArea, 'get' | 'put' | 'remove'>): PositionRow => ({
  read() {
    const value = device.get(CLUSTER_POSITION)
    return value === null ? null : (JSON.parse(new TextDecoder().decode(value)) as Position)
  },
  put: (position) => void device.put(CLUSTER_POSITION, utf8ToBytes(JSON.stringify(position))),
  remove: () => void device.remove(CLUSTER_POSITION),
})
