/** Entry point of the chat process, which the boot manager starts in addition to the firmware. */

import { connectJoined } from '../../channel/connect.ts'
import { type FromChat, readToChat, type ToChat } from '../link/link.ts'
import { obey } from './service.ts'

const EXIT_UNSUPERVISED = 2

const ends = connectJoined<ToChat, FromChat>(readToChat)
if (ends !== null) obey(ends.channel, ends.link, new URL(import.meta.url))
else {
  console.error('The chat does not run by itself; the boot manager starts it: make run')
  process.exitCode = EXIT_UNSUPERVISED
}
