/** Entry point of the process for outgoing connections, which the boot manager starts in addition to the firmware. */

import { createLog, writeToConsole } from '../base/log.ts'
import { connectJoined } from '../channel/connect.ts'
import { type FromOutgoing, readToOutgoing, type ToOutgoing } from './link.ts'
import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

const ends = connectJoined<ToOutgoing, FromOutgoing>(readToOutgoing)
if (ends !== null)
  obey(
    ends.channel,
    ends.link,
    createLog('info', (entry) => writeToConsole({ ...entry, source: 'outgoing' })),
  )
else {
  console.error('This process does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
}
