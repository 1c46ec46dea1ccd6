/** The versions of the firmware on a device. */

import { SlotError } from '../slot-error.ts'
import type { Slots, SlotsOptions } from '../slots.ts'

export interface DeviceSlotsOptions extends Pick<SlotsOptions, 'storeDirectory' | 'own' | 'releaseKey'> {
  /** Root of the data partition. */
  dataDirectory: string
}

export function openDeviceSlots({ own }: DeviceSlotsOptions): Slots {
  return {
    choose: () => ({ ...own, trial: false, fallback: null }),
    markGood: () => {},
    noteFailure: () => {},
    take: () => {
      throw new SlotError('This image takes no updates')
    },
  }
}
