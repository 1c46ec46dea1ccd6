/** The device platform: the appliance's own machine, booted from its image. */

import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { syncDirectory } from '../base/files.ts'
import { readReleaseKey } from '../base/release-key.ts'
import { listenUrlAt } from '../etcd/parameters.ts'
import { createRunner, type EtcdRunner, socketIn } from '../etcd/runner.ts'
import { OUTGOING_HEAP_MEGABYTES, type Platform, type TimeReport } from '../platform.ts'
import type { Early } from '../supervisor/firmware-process.ts'
import { ownFirmware } from '../supervisor/own-firmware.ts'
import { keepPrompt, limitLines } from './console-rate.ts'
import { createDataPartition } from './data-partition.ts'
import { openDeviceSlots } from './device-slots.ts'
import { chatHeapFor } from './early.ts'
import { readBootLoader } from './esp/boot-count.ts'
import { efiVariables } from './esp/efi-variables.ts'
import { createEsp, dropCaches } from './esp/esp.ts'
import { repairEsp } from './esp/repair.ts'
import { readSecureBoot } from './esp/secure-boot.ts'
import { hardenKernel } from './hardening.ts'
import { eraseDeviceKey, openDeviceKeys } from './key/device-key.ts'
import { CHAT_ID, ETCD_ID, FIRMWARE_ID, launcherForChat, launcherForEtcd, launcherForOutgoing } from './launcher.ts'
import { keepTime } from './machine-clock.ts'
import { createMinimumVersion } from './minimum-version.ts'
import { createNetwork } from './network.ts'
import { readRelease } from './release.ts'
import { DiskError, findDisk } from './system/disk.ts'
import { CHAT, DATA, ESP, ETCD, mountEfiVariables, mountEsp, remountEsp, STORE } from './system/mounts.ts'
import { createTimeKeeper } from './time.ts'
import { feedWatchdogs } from './watchdog.ts'

const ETCD_PROGRAM = '/usr/bin/etcd' // absent in some images
const RELEASE_KEY = '/app/release.pub'
const RELEASE = '/app/release.json' // has the timestamp of the image
const NOWHERE = '/run/no-data' // replaces an unusable data partition
const HOST = '::' // includes IPv4
const TLS_PORT = 8443
const HTTP_PORT = 8080
const WELL_KNOWN_HTTP_PORT = 80 // certificate authorities ask there, and people type no port
const ISOLATED_MAX_MS = 24 * 3_600_000 // the default of a host
const CHAT_PORT = 9443
const WELL_KNOWN_CHAT_PORT = 443

const POWER_OFF = { exitCode: 0 }
const RESTART = { exitCode: 1 }

const READ_MS = 30_000 // time to read the terminal before the machine restarts

/** Reports problems of the machine on the terminal, then restarts it for another attempt. */
export async function openDevice(early: Early, say: (text: string) => void): Promise<Platform> {
  feedWatchdogs()
  try {
    return await open(early, say)
  } catch (error) {
    say(`Coffer does not start: ${error instanceof Error ? error.message : 'no reason given'}.`)
    if (!(error instanceof DiskError)) console.error(error)
    await wait(READ_MS)
    process.exit(RESTART.exitCode)
  }
}

async function open(early: Early, say: (text: string) => void): Promise<Platform> {
  mountEfiVariables()
  const disk = await findDisk()
  for (const repair of repairEsp(disk.esp)) say(repair)
  mountEsp(disk.esp)
  hardenKernel()
  const forgetKeys = () => {
    const left = eraseDeviceKey(DATA)
    if (left !== null) say(`The device key could not be erased from the TPM: ${left}.`)
  }
  const partition = createDataPartition({ disk, forgetKeys, say })
  const problem = await partition.open()
  if (problem !== null)
    say(`${problem.charAt(0).toUpperCase()}${problem.slice(1)}. Only a factory reset makes a new one.`)
  const directory = problem === null ? DATA : NOWHERE
  const storeDirectory = problem === null ? STORE : `${NOWHERE}/store`
  if (problem === null) keepTime(`${DATA}/time`, statSync(RELEASE).mtimeMs)
  else makeNowhere(storeDirectory)

  const chatDirectory = problem === null ? CHAT : `${NOWHERE}/chat`
  const releaseKey = readReleaseKey(RELEASE_KEY, true)
  const { version, rollbackFloor } = readRelease(RELEASE)
  const keys = openDeviceKeys(directory, storeDirectory, { problem })
  const minimum = createMinimumVersion({
    path: `${directory}/minimum-version`,
    storeDirectory,
    version,
    rollbackFloor,
    counter: keys.counter,
  })
  const variables = efiVariables()
  const loader = readBootLoader(variables)
  const slots = openDeviceSlots({
    dataDirectory: directory,
    storeDirectory,
    own: { ...ownFirmware(), version },
    releaseKey,
    boot: loader && {
      esp: createEsp({ directory: ESP, remount: remountEsp, dropCaches }),
      loader,
      spareRoot: disk.spareRoot,
    },
    architecture: process.arch === 'arm64' ? 'arm64' : 'x64',
    secureBoot: readSecureBoot(variables),
    minimum,
  })
  const network = createNetwork({ say })
  let timeReport: TimeReport = { onTime: () => {}, onServer: () => {} }
  const time = createTimeKeeper({
    say,
    onTime: () => timeReport.onTime(),
    onServer: (isHeard) => timeReport.onServer(isHeard),
  })
  const etcd = problem === null && existsSync(ETCD_PROGRAM) ? openRunner() : null
  return {
    settings: {
      dataDirectory: storeDirectory,
      host: HOST,
      port: TLS_PORT,
      httpPort: HTTP_PORT,
      furtherHttpPorts: [WELL_KNOWN_HTTP_PORT],
      logLevel: 'info',
      releaseKey,
      chat: { directory: chatDirectory, port: CHAT_PORT, portChoices: [CHAT_PORT, WELL_KNOWN_CHAT_PORT] },
      outgoing: { onHost: false },
      ...(etcd !== null && { etcd: { socket: socketIn(etcd.directory), isolatedMaxMs: ISOLATED_MAX_MS } }),
    },
    slots,
    launcher: early.command.launcher,
    heapMegabytes: early.command.heapMegabytes,
    chat: {
      launcher: launcherForChat(),
      heapMegabytes: chatHeapFor(totalmem()),
      makeDirectory: () => makeChatDirectory(chatDirectory),
    },
    outgoing: { launcher: launcherForOutgoing(), heapMegabytes: OUTGOING_HEAP_MEGABYTES },
    etcd,
    lock: null, // the machine ends with the boot manager
    early,
    sharesTerminal: false,
    deviceKey: () => minimum.guard(keys.open()),
    starts: minimum,
    applyNetwork: network.apply,
    applyNtp: (ntp, report) => {
      timeReport = report
      time.apply(ntp)
    },
    logTo: (terminal) => keepPrompt(terminal, limitLines(terminal.print)),
    shownAddress: (address, configured) => configured?.ipAddress ?? address,
    prepare: (action) => {
      if (action === 'factoryReset') partition.condemn(slots.goodVersion())
    },
    perform: async (action) => {
      keys.wipe()
      if (action === 'shutdown') {
        say('The machine is powering off.')
        return POWER_OFF
      }
      if (action === 'factoryReset') {
        say('Factory reset: everything on the data partition is being erased.')
        await partition.erase()
        say('Factory reset: done.')
      }
      say('The machine is restarting.')
      return RESTART
    },
  }
}

const openRunner = (): EtcdRunner =>
  createRunner({
    program: ETCD_PROGRAM,
    launcher: launcherForEtcd(),
    directory: ETCD,
    listenUrl: (peerUrl) => listenUrlAt(HOST, peerUrl),
    users: { etcdId: ETCD_ID, firmwareId: FIRMWARE_ID },
    secretDirectory: '/run', // in memory, as all except the data partition
  })

function makeNowhere(storeDirectory: string): void {
  mkdirSync(storeDirectory, { recursive: true, mode: 0o711 })
  chownSync(storeDirectory, FIRMWARE_ID, FIRMWARE_ID)
}

/** The chat itself creates the content. */
function makeChatDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chownSync(path, CHAT_ID, CHAT_ID)
  syncDirectory(dirname(path))
}
