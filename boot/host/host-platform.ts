/** The host platform: a developer's machine. Directories replace the disk, and a restart of the firmware replaces a reboot. */

import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { PRODUCT } from '../../firmware/channel/product.ts'
import { openDeviceKey } from '../base/device-key-file.ts'
import { syncDirectory, writeDurably } from '../base/files.ts'
import { giveTo } from '../base/owner.ts'
import { readReleaseKey } from '../base/release-key.ts'
import { SettingsError } from '../base/settings-error.ts'
import { listenUrlAt } from '../etcd/parameters.ts'
import { createRunner, type EtcdRunner, socketIn } from '../etcd/runner.ts'
import { OUTGOING_HEAP_MEGABYTES, type Platform } from '../platform.ts'
import { ownFirmware } from '../supervisor/own-firmware.ts'
import { createStoreCopy } from '../versions/store-copy.ts'
import { openDataDirectory } from './data-directory.ts'
import { lockDirectory } from './directory-lock.ts'
import {
  chooseFirmwareUser,
  type FirmwareUser,
  HOST_CHAT_ID,
  HOST_ETCD_ID,
  HOST_FIRMWARE_ID,
  letAllRead,
} from './firmware-user.ts'
import { openSlots } from './host-slots.ts'
import { checkPermissions } from './permissions.ts'
import type { HostSettings } from './settings.ts'

// A sign request may have 67 MiB, which are in memory several times: as JSON, base64 and bytes.
const HEAP_MEGABYTES = 1024
const CHAT_HEAP_MEGABYTES = 512 // ten thousand waiting clients, and the data of a thousand users

/** Creates the data directory if necessary and locks it. Throws a LockError if it is in use, or a SettingsError. */
export function openHost(settings: HostSettings, say: (text: string) => void = console.log): Platform {
  const {
    dataDirectory,
    host,
    port,
    httpPort,
    chatPort,
    console: hasConsole,
    logLevel,
    isolatedMaxMs,
    releaseKeyPath,
  } = settings
  const directory = openDataDirectory(dataDirectory)
  const storeDirectory = `${directory}/store`
  const chatDirectory = `${directory}/chat`
  checkPermissions(directory, { firmwareId: HOST_FIRMWARE_ID, chatId: HOST_CHAT_ID, etcdId: HOST_ETCD_ID }, say)
  const lock = lockDirectory(directory)
  const disk = {
    directory,
    storeDirectory,
    chatDirectory,
    etcdDirectory: `${directory}/etcd`,
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
  const firmwareUser = chooseFirmwareUser(user, say)
  const { id, launcher, chat, outgoing } = firmwareUser
  const etcd = openRunner(settings, disk.etcdDirectory, firmwareUser)
  return {
    settings: {
      dataDirectory: storeDirectory,
      host,
      port,
      httpPort,
      logLevel,
      releaseKey,
      chat: { directory: chatDirectory, port: chatPort },
      outgoing: { onHost: true },
      ...(etcd !== null && { etcd: { socket: socketIn(etcd.directory), isolatedMaxMs } }),
      console: hasConsole,
    },
    slots: {
      ...slots,
      choose: () => {
        const running = slots.choose()
        if (id !== null) letAllRead(`${directory}/slots`)
        giveTo(storeDirectory, id)
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
        giveTo(chatDirectory, chat.id)
      },
    },
    outgoing: { launcher: outgoing.launcher, heapMegabytes: OUTGOING_HEAP_MEGABYTES },
    etcd,
    lock,
    early: null,
    sharesTerminal: true,
    deviceKey: () => openDeviceKey(disk.keyPath, storeDirectory),
    starts: null, // the owner of a host can change its disk at will
    applyNtp: () => {}, // the owner sets the clock, too
    applyNetwork: () => {}, // the host's administrator sets the network; the setting is only stored and shown
    logTo:
      ({ print }) =>
      (lines) =>
        print(lines.join('\n')), // in one write, so that the reader wakes up once
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

const IN_MEMORY = '/dev/shm'
const SOCKET_PATH_BYTES_MAX = 107 // unix(7)

/** Null if no etcd is set. Throws a SettingsError. */
function openRunner(
  { etcdPath, host }: HostSettings,
  directory: string,
  { id, etcd }: Pick<FirmwareUser, 'id' | 'etcd'>,
): EtcdRunner | null {
  if (etcdPath === null) return null
  if (!isProgram(etcdPath)) throw new SettingsError(`COFFER_ETCD is ${etcdPath}, which is no program`)
  if (etcd === null) throw new SettingsError('COFFER_ETCD needs setpriv(1) of util-linux, which is not installed')
  const bytes = Buffer.byteLength(socketIn(directory))
  if (bytes > SOCKET_PATH_BYTES_MAX)
    throw new SettingsError(
      `COFFER_ETCD needs a data directory whose path is ${bytes - SOCKET_PATH_BYTES_MAX} bytes shorter`,
    )
  return createRunner({
    program: etcdPath,
    launcher: etcd.launcher,
    directory,
    listenUrl: (peerUrl) => listenUrlAt(host, peerUrl),
    users: { etcdId: etcd.id, firmwareId: id },
    secretDirectory: IN_MEMORY,
  })
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

interface Disk {
  directory: string
  storeDirectory: string
  chatDirectory: string
  etcdDirectory: string
  keyPath: string
  /** Exists from the decision to reset until everything is erased, so that a power cut cannot leave half of it. */
  resetMark: string
}

const makeStoreDirectory = ({ directory, storeDirectory }: Disk): void => makeDirectory(storeDirectory, directory)

function makeDirectory(path: string, parent: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  syncDirectory(parent)
}

/** Erases the device key first: without it the remaining data cannot be decrypted. */
function erase({ directory, storeDirectory, chatDirectory, etcdDirectory, keyPath, resetMark }: Disk): void {
  rmSync(keyPath, { force: true })
  syncDirectory(directory)
  createStoreCopy(storeDirectory).remove()
  for (const path of [storeDirectory, chatDirectory, etcdDirectory]) rmSync(path, { recursive: true, force: true })
  rmSync(resetMark)
  syncDirectory(directory)
}
