/**
 * How the firmware is started: as a user without any privilege and without a way back to one. setpriv(1), capabilities(7).
 *
 * Node's permission model (firmware-process.ts) confines what JavaScript can do; this holds for native code as well.
 */

import { BUSYBOX } from './system/programs.ts'

/** The firmware's user and group. */
export const FIRMWARE_ID = 1000
/** The chat's; 1001 keeps the time. */
export const CHAT_ID = 1002
/** That of a cluster's etcd. */
export const ETCD_ID = 1003

const DESCRIPTORS_MAX = 4096 // connections of clients, of which the listener allows far fewer
const CHAT_DESCRIPTORS_MAX = 16_384 // ten thousand clients that wait for events
// When memory runs out the kernel ends the firmware, which comes back, and never the boot manager (oom_score_adj is -1000).
const SACRIFICE = 500
const ETCD_SACRIFICE = 600 // without it the firmware signs on

export const launcherForChat = (): string[] => launcherFor(CHAT_ID, { descriptorsMax: CHAT_DESCRIPTORS_MAX })

/** What it makes is for it and the group of its directory. */
export const launcherForEtcd = (): string[] => launcherFor(ETCD_ID, { sacrifice: ETCD_SACRIFICE, umask: '0007' })

interface Limits {
  descriptorsMax?: number
  sacrifice?: number
  umask?: string
}

export function launcherFor(
  id: number,
  { descriptorsMax = DESCRIPTORS_MAX, sacrifice = SACRIFICE, umask }: Limits = {},
): string[] {
  const script = [
    ...(umask === undefined ? [] : [`umask ${umask}`]),
    `ulimit -c 0; ulimit -n ${descriptorsMax}; echo ${sacrifice} >/proc/self/oom_score_adj`,
    'unset PATH PWD SHLVL; exec "$@"', // the shell's own
  ].join('\n')
  return [
    ...[BUSYBOX, 'sh', '-c', script, 'firmware'],
    ...['/usr/bin/setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'],
    ...['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'],
  ]
}
