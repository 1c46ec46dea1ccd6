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

const DESCRIPTORS_MAX = 4096 // connections of clients, of which the listener allows far fewer
const CHAT_DESCRIPTORS_MAX = 16_384 // ten thousand clients that wait for events
// When memory runs out the kernel ends the firmware, which comes back, and never the boot manager (oom_score_adj is -1000).
const SACRIFICE = 500

export const launcherForChat = (): string[] => launcherFor(CHAT_ID, CHAT_DESCRIPTORS_MAX)

export function launcherFor(id: number, descriptorsMax = DESCRIPTORS_MAX): string[] {
  const script = [
    `ulimit -c 0; ulimit -n ${descriptorsMax}; echo ${SACRIFICE} >/proc/self/oom_score_adj`,
    'unset PATH PWD SHLVL; exec "$@"', // the shell's own
  ].join('\n')
  return [
    ...[BUSYBOX, 'sh', '-c', script, 'firmware'],
    ...['/usr/bin/setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'],
    ...['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'],
  ]
}
