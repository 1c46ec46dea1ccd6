/**
 * How the firmware is started: as a user without any privilege and without a way back to one. setpriv(1), capabilities(7).
 *
 * Node's permission model (firmware-process.ts) confines what JavaScript can do; this holds for native code as well.
 */

import { BUSYBOX } from './system/programs.ts'

/** The firmware's user and group. */
export const FIRMWARE_ID = 1000

const DESCRIPTORS_MAX = 4096 // connections of clients, of which the listener allows far fewer
// When memory runs out the kernel ends the firmware, which comes back, and never the boot manager (oom_score_adj is -1000).
const SACRIFICE = 500

export function launcherFor(id: number): string[] {
  const script = [
    `ulimit -c 0; ulimit -n ${DESCRIPTORS_MAX}; echo ${SACRIFICE} >/proc/self/oom_score_adj`,
    'unset PATH PWD SHLVL; exec "$@"', // the shell's own
  ].join('\n')
  return [
    ...[BUSYBOX, 'sh', '-c', script, 'firmware'],
    ...['/usr/bin/setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'],
    ...['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'],
  ]
}
