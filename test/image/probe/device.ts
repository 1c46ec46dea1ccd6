/**
 * The boot manager on the device, as it is but for one permission: its firmware may read what the kernel says of it. It
 * also asks the TPM for the device key again, and tries what the users of etcd and of outgoing connections can do.
 */

import { existsSync } from 'node:fs'
import { openDevice } from '../../../boot/device/device-platform.ts'
import { launchFirmware } from '../../../boot/device/early.ts'
import { run } from '../../../boot/manager.ts'
import { tryAsEtcd, tryAsOutgoing } from './as-user.ts'
import { tryOnceMore } from './once-more.ts'
import { SECRETS } from './secrets.ts'

const platform = await openDevice(launchFirmware(), (text) => console.log(text))
tryOnceMore()
if (platform.etcd !== null) tryAsEtcd(platform.etcd)
tryAsOutgoing(platform.outgoing!)
run({
  ...platform,
  slots: {
    ...platform.slots,
    choose: () => {
      const running = platform.slots.choose()
      for (const path of SECRETS) if (existsSync(path)) console.log(`probe: there is ${path}`)
      return { ...running, readable: [...running.readable, '/proc/self/'] }
    },
  },
})
