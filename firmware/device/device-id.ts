/** The name of this installation: stable until a factory reset, and telling nothing of the key it is made from. */

import { base32 } from '@scure/base'
import { deriveSealKey } from '../crypto/seal.ts'

const CHARACTERS = 10 // contract section 4.8

/** Empty when the device key is lost. */
export const deviceIdOf = (deviceKey: Uint8Array | null): string =>
  deviceKey === null ? '' : base32.encode(deriveSealKey(deviceKey, 'device id')).slice(0, CHARACTERS)
