/** The watchdog restarts the machine when nobody writes to it: linux/Documentation/watchdog/watchdog-api.rst. */

import { fstatSync, writeFileSync, writeSync } from 'node:fs'

const WATCHED = '/run/watched' // until this is there, /sbin/init feeds it
const DESCRIPTOR = 3 // opened by /sbin/init, which keeps it open
const FEED_MS = 5_000 // watchdogs wait half a minute and more

/** As long as our event loop turns, the watchdog hears of it. */
export function feedWatchdog(descriptor = DESCRIPTOR, everyMs = FEED_MS): void {
  try {
    if (!fstatSync(descriptor).isCharacterDevice()) return
  } catch {
    return // started by hand
  }
  const feed = () => {
    writeSync(descriptor, '\n') // any byte but V, which would switch it off
  }
  feed()
  writeFileSync(WATCHED, '')
  setInterval(feed, everyMs).unref()
}
