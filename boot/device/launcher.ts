/**
 * Starts the firmware as a user without privileges but for ports below 1024, and without a way to regain others. setpriv(1),
 * capabilities(7).
 * Node's permission model (firmware-process.ts) confines JavaScript; this also confines native code.
 */

import { capabilityOptions } from '../base/capabilities.ts'
import { BUSYBOX } from './system/programs.ts'

export const FIRMWARE_ID = 1000
/** 1001 is the time service. */
export const CHAT_ID = 1002
export const ETCD_ID = 1003
/** User and group of the process for outgoing connections. */
const OUTGOING_ID = 1004

const DESCRIPTORS_MAX = 4096 // connections of clients; the listener allows far fewer
const CHAT_DESCRIPTORS_MAX = 16_384 // ten thousand clients that wait for events
const OUTGOING_DESCRIPTORS_MAX = 256 // 32 jobs with a connection each, and those of the resolver
// If memory runs out, the kernel ends the firmware, which restarts, and never the boot manager (oom_score_adj is -1000).
const SACRIFICE = 500
const ETCD_SACRIFICE = 600 // the firmware continues to sign without it
const OUTGOING_SACRIFICE = 700 // it has nothing to lose

export const launcherForFirmware = (): string[] => launcherFor(FIRMWARE_ID, { bindsReservedPorts: true })

export const launcherForChat = (): string[] =>
  launcherFor(CHAT_ID, { descriptorsMax: CHAT_DESCRIPTORS_MAX, bindsReservedPorts: true })

/** Cannot listen at the ports where a certificate authority looks for answers to challenges. */
export const launcherForOutgoing = (): string[] =>
  launcherFor(OUTGOING_ID, { descriptorsMax: OUTGOING_DESCRIPTORS_MAX, sacrifice: OUTGOING_SACRIFICE })

/** The umask permits access by the user and the group of the directory. */
export const launcherForEtcd = (): string[] => launcherFor(ETCD_ID, { sacrifice: ETCD_SACRIFICE, umask: '0007' })

interface Limits {
  descriptorsMax?: number
  sacrifice?: number
  umask?: string
  bindsReservedPorts?: boolean
}

function launcherFor(
  id: number,
  { descriptorsMax = DESCRIPTORS_MAX, sacrifice = SACRIFICE, umask, bindsReservedPorts = false }: Limits,
): string[] {
  const script = [
    ...(umask === undefined ? [] : [`umask ${umask}`]),
    `ulimit -c 0; ulimit -n ${descriptorsMax}; echo ${sacrifice} >/proc/self/oom_score_adj`,
    'unset PATH PWD SHLVL; exec "$@"', // set by the shell
  ].join('\n')
  return [
    ...[BUSYBOX, 'sh', '-c', script, 'firmware'],
    ...['/usr/bin/setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'],
    '--no-new-privs',
    ...capabilityOptions(bindsReservedPorts),
  ]
}
