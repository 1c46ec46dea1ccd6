/** The boot manager on the device. Its exit code controls /sbin/init: 0 powers off, any other code restarts. */

import { preventCoreFiles } from '../base/core-files.ts'
import { launchFirmware } from './early.ts'

preventCoreFiles()
const early = launchFirmware()
const { run } = await import('../manager.ts')
const { openDevice } = await import('./device-platform.ts')
run(await openDevice(early, (text) => console.log(text)))
