/** Where in the order of changes a node is: kept with its records, in the same transactions. */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { CLUSTER_POSITION, type DeviceArea } from '../../store/device-area.ts'

/** The change that was adopted last. */
export interface Position {
  /** The generation of the records, which tells where they are in etcd. */
  generation: string
  /** That its head was written at. */
  revision: number
  /** The id of its head. */
  id: string
}

export interface PositionRow {
  /** Null for a node that has never adopted anything. */
  read(): Position | null
  /** Call within a transaction. */
  put(position: Position): void
  /** The copy is between two states. Call within a transaction. */
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
