/** The device platform: the appliance's own machine, started from its image. */

import { mkdirSync } from 'node:fs'
import { ownFirmware } from '../own-firmware.ts'
import type { Platform } from '../platform.ts'
import { PRODUCT } from '../product.ts'
import { readReleaseKey } from '../release-key.ts'
import { openDeviceKeys } from './device-key.ts'
import { openDeviceSlots } from './slots.ts'

const DATA = '/data'
const RELEASE_KEY = '/app/release.pub'
const TLS_PORT = 8443
const HTTP_PORT = 8080
const HEAP_MEGABYTES = 192

const POWER_OFF = { exitCode: 0 }
const RESTART = { exitCode: 1 }

export async function openDevice(): Promise<Platform> {
  const storeDirectory = `${DATA}/store`
  mkdirSync(storeDirectory, { recursive: true, mode: 0o700 })
  const releaseKey = readReleaseKey(RELEASE_KEY, true)
  const own = { ...ownFirmware(), version: PRODUCT.version }
  const keys = openDeviceKeys(DATA, storeDirectory)
  return {
    settings: {
      dataDirectory: storeDirectory,
      host: '::',
      port: TLS_PORT,
      httpPort: HTTP_PORT,
      logLevel: 'info',
      releaseKey,
    },
    slots: openDeviceSlots({ dataDirectory: DATA, storeDirectory, own, releaseKey }),
    launcher: [],
    heapMegabytes: HEAP_MEGABYTES,
    lock: null,
    sharesTerminal: false,
    deviceKey: () => keys.open(),
    applyNetwork: () => {},
    shownAddress: (address, network) => network?.ipAddress ?? address,
    perform: async (action) => (action === 'shutdown' ? POWER_OFF : RESTART),
  }
}
