/** A watchdog restarts the machine when nobody writes to it: linux/Documentation/watchdog/watchdog-api.rst. */

import { fstatSync, writeFileSync, writeSync } from 'node:fs'

const WATCHED = '/run/watched' // until this is there, /sbin/init feeds it
const DESCRIPTORS = [3, 4, 5] // opened by /init: the kernel's own, and those of the hardware
const FEED_MS = 5_000 // watchdogs wait half a minute and more

/** As long as our event loop turns, the watchdogs hear of it. */
export function feedWatchdogs(everyMs = FEED_MS): void {
  const descriptors = DESCRIPTORS.filter(isDevice)
  if (descriptors.length === 0) return
  const feed = () => {
    for (const descriptor of descriptors) writeSync(descriptor, '\n') // any byte but V, which would switch it off
  }
  feed()
  writeFileSync(WATCHED, '')
  setInterval(feed, everyMs).unref()
}

/** False for all of them when we were started by hand. */
function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice()
  } catch {
    return false
  }
}
