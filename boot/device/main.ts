/** The boot manager on the device. Its exit code tells /sbin/init what comes next: 0 power off, anything else a restart. */

import { preventCoreFiles } from '../core-files.ts'
import { run } from '../manager.ts'
import { openDevice } from './platform.ts'

preventCoreFiles()
run(await openDevice((text) => console.log(text)))
