/** The bundle with the probe in it. It differs from a release in the two entries only. */

import { bundleWith } from '../entries.ts'

export const bundleProbe = (directory: string): Promise<void> =>
  bundleWith({ 'boot/device/main.ts': 'probe/device.ts', 'firmware/main.ts': 'probe/firmware.ts' }, directory)
