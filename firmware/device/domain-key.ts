/** The domain key under the unlock passphrase: made at provisioning, opened at an unlock, sealed anew by a change. */

import { CofferError } from '../base/error.ts'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool, ScryptCost } from '../crypto/types.ts'
import { ATTENDED, BESIDE_ATTENDED, type DeviceArea } from '../store/device-area.ts'
import { belongsBeside, openWithPassphrase, sealForPassphrase } from '../store/key-slots.ts'
import type { Disk } from './disk.ts'

/** Slot 0, and what lies beside it for backups in the form of a NetHSM. */
interface SealedDomainKey {
  slot: Uint8Array
  beside: Uint8Array
}

export class DomainKeySlot {
  readonly #services: { pool: CryptoPool; random: Random; cost: ScryptCost }

  constructor(services: { pool: CryptoPool; random: Random; cost: ScryptCost }) {
    this.#services = services
  }

  seal(domainKey: Uint8Array, passphrase: Uint8Array): Promise<SealedDomainKey> {
    return sealForPassphrase(domainKey, passphrase, this.#services)
  }

  /** Throws `forbidden` when the passphrase is wrong. */
  async open(
    device: DeviceArea,
    passphrase: Uint8Array,
  ): Promise<Pick<SealedDomainKey, 'beside'> & { domainKey: Uint8Array }> {
    const slot = device.get(ATTENDED)
    if (slot === null) throw new CofferError('storage', 'The sealed domain key is missing')
    const opened = await openWithPassphrase(slot, passphrase, this.#services)
    if (opened === null) throw new CofferError('forbidden', 'Wrong passphrase')
    return opened
  }

  /** Call within a transaction. */
  put(device: DeviceArea, { slot, beside }: SealedDomainKey): void {
    device.put(ATTENDED, slot)
    device.put(BESIDE_ATTENDED, beside)
  }

  /** The one that is there stays where it fits: backups of the same domain key are known by it. */
  keepBeside({ store, device }: Disk, beside: Uint8Array): void {
    const [slot, present] = [device.get(ATTENDED), device.get(BESIDE_ATTENDED)]
    if (slot !== null && present !== null && belongsBeside(slot, present)) return
    store.transaction(() => device.put(BESIDE_ATTENDED, beside))
  }
}
