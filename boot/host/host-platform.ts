/** The host platform: a developer's machine. Directories stand for the disk, a restart of the firmware for a reboot. */

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { PRODUCT } from '../../firmware/channel/product.ts'
import { openDeviceKey } from '../base/device-key-file.ts'
import { syncDirectory, writeDurably } from '../base/files.ts'
import { readReleaseKey } from '../base/release-key.ts'
import type { Platform } from '../platform.ts'
import { ownFirmware } from '../supervisor/own-firmware.ts'
import { createStoreCopy } from '../versions/store-copy.ts'
import { openDataDirectory } from './data-directory.ts'
import { lockDirectory } from './directory-lock.ts'
import { chooseFirmwareUser, giveTo, HOST_CHAT_ID, HOST_FIRMWARE_ID, letAllRead } from './firmware-user.ts'
import { openSlots } from './host-slots.ts'
import { checkPermissions } from './permissions.ts'
import type { HostSettings } from './settings.ts'

// A sign request may carry 67 MiB; as JSON text, as base64 and as bytes it is held several times over.
const HEAP_MEGABYTES = 1024
const CHAT_HEAP_MEGABYTES = 512 // ten thousand waiting clients, and what a thousand users see

/** Makes the data directory if need be and locks it; throws a LockError when it is in use, or a SettingsError. */
export function openHost(
  { dataDirectory, host, port, httpPort, chatPort, console: hasConsole, logLevel, releaseKeyPath }: HostSettings,
  say: (text: string) => void = console.log,
): Platform {
  const directory = openDataDirectory(dataDirectory)
  const storeDirectory = `${directory}/store`
  const chatDirectory = `${directory}/chat`
  checkPermissions(directory, { firmwareId: HOST_FIRMWARE_ID, chatId: HOST_CHAT_ID }, say)
  const lock = lockDirectory(directory)
  const disk = {
    directory,
    storeDirectory,
    chatDirectory,
    keyPath: `${directory}/device.key`,
    resetMark: `${directory}/factory-reset`,
  }
  if (existsSync(disk.resetMark)) erase(disk)
  makeStoreDirectory(disk)
  const releaseKey = readReleaseKey(releaseKeyPath ?? `${directory}/release.pub`, releaseKeyPath === null)
  const own = { ...ownFirmware(), version: PRODUCT.version }
  const slots = openSlots({ directory: `${directory}/slots`, storeDirectory, own, releaseKey })
  const files = [process.execPath, own.program, ...own.readable]
  const user = { directory, storeDirectory, files, ports: [port, httpPort], chatPort }
  const { id, launcher, chat } = chooseFirmwareUser(user, say)
  return {
    settings: {
      dataDirectory: storeDirectory,
      host,
      port,
      httpPort,
      logLevel,
      releaseKey,
      chat: { directory: chatDirectory, port: chatPort },
      console: hasConsole,
    },
    slots: {
      ...slots,
      choose: () => {
        const running = slots.choose()
        if (id !== null) {
          letAllRead(`${directory}/slots`)
          giveTo(storeDirectory, id)
        }
        return running
      },
    },
    launcher,
    heapMegabytes: HEAP_MEGABYTES,
    chat: {
      launcher: chat.launcher,
      heapMegabytes: CHAT_HEAP_MEGABYTES,
      makeDirectory: () => {
        makeDirectory(chatDirectory, directory)
        if (chat.id !== null) giveTo(chatDirectory, chat.id)
      },
    },
    lock,
    early: null,
    sharesTerminal: true,
    deviceKey: () => openDeviceKey(disk.keyPath, storeDirectory),
    starts: null, // what is on a host's disk, its owner can change as he likes
    applyNtp: () => {}, // as is its clock
    applyNetwork: () => {}, // the network of a host is its administrator's; the setting is kept and shown
    logTo: (print) => (lines) => print(lines.join('\n')), // in one piece: whoever reads it is woken once
    shownAddress: (address) => address,
    prepare: (action) => {
      if (action === 'factoryReset') writeDurably(disk.resetMark, new Uint8Array(0))
    },
    perform: async (action) => {
      if (action === 'shutdown') return { exitCode: 0 }
      if (action === 'factoryReset') {
        erase(disk)
        makeStoreDirectory(disk)
      }
      return 'start'
    },
  }
}

interface Disk {
  directory: string
  storeDirectory: string
  chatDirectory: string
  keyPath: string
  /** Present from the decision until everything is gone, so that a power cut in between cannot leave half of it. */
  resetMark: string
}

const makeStoreDirectory = ({ directory, storeDirectory }: Disk): void => makeDirectory(storeDirectory, directory)

function makeDirectory(path: string, parent: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  syncDirectory(parent)
}

/** The device key goes first: without it the rest is noise. */
function erase({ directory, storeDirectory, chatDirectory, keyPath, resetMark }: Disk): void {
  rmSync(keyPath, { force: true })
  syncDirectory(directory)
  createStoreCopy(storeDirectory).remove()
  for (const path of [storeDirectory, chatDirectory]) rmSync(path, { recursive: true, force: true })
  rmSync(resetMark)
  syncDirectory(directory)
}
