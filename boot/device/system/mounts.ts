/** File systems of the device, mounted and unmounted with busybox. */

import { BUSYBOX, mustRunNow, ProgramError } from './programs.ts'

export const ESP = '/efi'
export const DATA = '/data'
export const STORE = `${DATA}/store`
export const CHAT = `${DATA}/chat`
export const ETCD = `${DATA}/etcd`
export const EFI_VARIABLES = '/sys/firmware/efi/efivars'

// For nobody but root: what is on it starts the machine.
const ESP_OPTIONS = 'nosuid,nodev,noexec,umask=0077'
// Rather no more writing than writing to a file system that has been found damaged.
const DATA_OPTIONS = 'nosuid,nodev,noexec,noatime,errors=remount-ro'

const mount = (...parameters: string[]) => mustRunNow(BUSYBOX, ['mount', ...parameters])

export const mountEsp = (device: string): void => mount('-t', 'vfat', '-o', `ro,${ESP_OPTIONS}`, device, ESP)

/**
 * `rw,sync`: names and what they point to reach the medium in the order of the calls; far too slow for contents, which
 * are written with `rw,async`. `ro` returns when everything is on the medium. What is not named stays as it was.
 */
export type EspAccess = 'rw,async' | 'rw,sync' | 'ro'

export const remountEsp = (access: EspAccess): void => mount('-o', `remount,${access},${ESP_OPTIONS}`, ESP)

/** Writes to the ESP while it is writable, which it is at no other time. */
export function withWritableEsp<T>(write: () => T): T {
  remountEsp('rw,sync')
  try {
    return write()
  } finally {
    remountEsp('ro')
  }
}

export const mountData = (device: string): void => mount('-t', 'ext4', '-o', DATA_OPTIONS, device, DATA)
export const unmountData = (): void => mustRunNow(BUSYBOX, ['umount', DATA])

/** False where the machine was not started through UEFI. */
export function mountEfiVariables(): boolean {
  try {
    mount('-t', 'efivarfs', '-o', 'nosuid,nodev,noexec', 'efivarfs', EFI_VARIABLES)
    return true
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    return false
  }
}
