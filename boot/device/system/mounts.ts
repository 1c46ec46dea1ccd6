import { BUSYBOX, mustRunNow, ProgramError } from './programs.ts'

export const ESP = '/efi'
export const DATA = '/data'
export const STORE = `${DATA}/store`
export const CHAT = `${DATA}/chat`
export const ETCD = `${DATA}/etcd`
export const EFI_VARIABLES = '/sys/firmware/efi/efivars'

// For root only: the machine boots from its content.
const ESP_OPTIONS = 'nosuid,nodev,noexec,umask=0077'
// Stops writing instead of writing to a file system that is known to be damaged.
const DATA_OPTIONS = 'nosuid,nodev,noexec,noatime,errors=remount-ro'

const mount = (...parameters: string[]) => mustRunNow(BUSYBOX, ['mount', ...parameters])

export const mountEsp = (device: string): void => mount('-t', 'vfat', '-o', `ro,${ESP_OPTIONS}`, device, ESP)

/**
 * `rw,sync`: changes reach the medium in the order of the calls. It is far too slow for contents, which are written with
 * `rw,async`. `ro` returns when all data is on the medium. Other mount options do not change.
 */
export type EspAccess = 'rw,async' | 'rw,sync' | 'ro'

export const remountEsp = (access: EspAccess): void => mount('-o', `remount,${access},${ESP_OPTIONS}`, ESP)

/** Makes the ESP writable during the callback only. */
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

/** False if the machine was not started through UEFI. */
export function mountEfiVariables(): boolean {
  try {
    mount('-t', 'efivarfs', '-o', 'nosuid,nodev,noexec', 'efivarfs', EFI_VARIABLES)
    return true
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    return false
  }
}
