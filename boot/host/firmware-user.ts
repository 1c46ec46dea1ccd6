/**
 * User of the firmware on a host. If Coffer is started as root, the firmware runs as a user that owns only the store, which
 * confines native code. setpriv(1), capabilities(7).
 */

import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { capabilityOptions } from '../base/capabilities.ts'
import { currentUser, giveTo } from '../base/owner.ts'

/** Id without an account: between the ranges of systemd-homed and of systemd's dynamic users (systemd.io, "Users, Groups"). */
export const HOST_FIRMWARE_ID = 60_700
/** User of the chat, which can access neither the store nor the firmware. */
export const HOST_CHAT_ID = 60_701
export const HOST_ETCD_ID = 60_702
/** User of the process for outgoing connections, which owns no file. */
const HOST_OUTGOING_ID = 60_703
const SETPRIV = '/usr/bin/setpriv'
const PASSAGE = 0o711 // gives access to the store; other entries have restrictive modes of their own
const CLOSED = 0o700
const RESERVED_PORTS_END = 1024 // lower ports require root or a capability

interface HostUser {
  /** User and group; null is the boot manager's own. */
  readonly id: number | null
  readonly launcher: readonly string[]
}

export interface FirmwareUser extends HostUser {
  readonly chat: HostUser
  readonly outgoing: HostUser
  /** Null if the system cannot end etcd together with the boot manager. */
  readonly etcd: HostUser | null
}

interface HostPaths {
  /** The data directory; the store is inside it. */
  directory: string
  storeDirectory: string
  files: readonly string[]
  ports: readonly (number | null)[]
  chatPort: number
}

/** Reports if the firmware must run as root. */
export function chooseFirmwareUser(
  { directory, storeDirectory, files, ports, chatPort }: HostPaths,
  say: (text: string) => void,
): FirmwareUser {
  const canSet = existsSync(SETPRIV)
  if (currentUser().uid !== 0) {
    const us: HostUser = { id: null, launcher: canSet ? [SETPRIV, '--no-new-privs'] : [] }
    return {
      ...us,
      chat: us,
      outgoing: us,
      etcd: canSet ? { id: null, launcher: endsWithUs(['--no-new-privs']) } : null,
    }
  }
  const launcher = [SETPRIV, ...identity(HOST_FIRMWARE_ID), ...privileges(ports)]
  chmodSync(directory, PASSAGE)
  const problem = canSet
    ? (giveStore(storeDirectory) ?? tryAs(launcher, [...files, storeDirectory]))
    : 'setpriv(1) of util-linux is not installed'
  const chat = { id: HOST_CHAT_ID, launcher: [SETPRIV, ...identity(HOST_CHAT_ID), ...privileges([chatPort])] }
  const outgoing = { id: HOST_OUTGOING_ID, launcher: [SETPRIV, ...identity(HOST_OUTGOING_ID), ...privileges([])] }
  const etcd = { id: HOST_ETCD_ID, launcher: endsWithUs([...identity(HOST_ETCD_ID), ...privileges([])]) }
  if (problem === null) return { id: HOST_FIRMWARE_ID, launcher, chat, outgoing, etcd }
  chmodSync(directory, CLOSED)
  say(`The firmware runs as root, so native code in it could read the device key: ${problem}.`)
  const us: HostUser = { id: null, launcher: [] }
  return { ...us, chat: us, outgoing: us, etcd: canSet ? { id: null, launcher: endsWithUs(['--no-new-privs']) } : null }
}

/**
 * Ends etcd with the boot manager, since etcd has no channel that would break. The second shell handles a boot manager that ends
 * before setpriv(1) has requested the signal. The umask permits access by the user and the group of the directory: inode(7).
 */
const endsWithUs = (options: readonly string[]): string[] => [
  ...['/bin/sh', '-c', 'umask 0007; ulimit -c 0; exec "$@"', 'etcd'],
  ...[SETPRIV, '--pdeathsig=KILL', ...options],
  ...['/bin/sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', String(process.pid)],
]

/** Returns the reason of a failure, or null. */
function giveStore(storeDirectory: string): string | null {
  try {
    giveTo(storeDirectory, HOST_FIRMWARE_ID)
    return null
  } catch (error) {
    return `the store cannot be given to another user (${(error as NodeJS.ErrnoException).code})`
  }
}

const identity = (id: number): string[] => [`--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--no-new-privs']

const privileges = (ports: readonly (number | null)[]): string[] =>
  capabilityOptions(ports.some((port) => port !== null && port > 0 && port < RESERVED_PORTS_END))

/** Returns null if the firmware can run as this user and read the files, else the reason. */
function tryAs(launcher: readonly string[], files: readonly string[]): string | null {
  const [command = SETPRIV, ...parameters] = launcher
  const script = 'for file; do test -r "$file" || { echo "$file"; exit 1; }; done'
  const { status, stdout } = spawnSync(command, [...parameters, '/bin/sh', '-c', script, 'sh', ...files], {
    encoding: 'utf8',
    env: {},
  })
  if (status === 0) return null
  const [file] = stdout.split('\n')
  return file ? `another user cannot reach ${file}` : 'this root may not change to another user'
}

/** Installed versions are not secret, and the firmware's user must read them. */
export function letAllRead(directory: string): void {
  if (!existsSync(directory)) return
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = `${directory}/${entry.name}`
    if (entry.isDirectory()) letAllRead(path)
    else if (entry.isFile()) chmodSync(path, 0o644)
  }
}
