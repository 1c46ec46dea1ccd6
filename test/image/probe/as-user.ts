/** Acts that the users of etcd and of the process for outgoing connections cannot do on the device, tried by a shell in their place. */

import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { BUSYBOX } from '../../../boot/device/system/programs.ts'
import type { EtcdRunner } from '../../../boot/etcd/runner.ts'
import type { ProcessRunner } from '../../../boot/platform.ts'
import { ETCD_SECRET, FOREIGN, SECRETS } from './secrets.ts'

type Launcher = readonly string[]

/** Each check prints one line, as those of the firmware do. */
export function tryAsEtcd({ launcher, directory, makeDirectory }: EtcdRunner): void {
  makeDirectory()
  // As etcd makes it.
  run(launcher, `$b mkdir -p -m 700 ${dirname(ETCD_SECRET)} && echo x > ${ETCD_SECRET}`)
  const closed = [...SECRETS.filter((path) => path !== ETCD_SECRET), '/data/store', '/data/device.key']
  const foreign = [...FOREIGN, '/data/store/probe']
  check('etcd', launcher, [
    ...ordinary({ id: 1003, sacrifice: 600, closed, foreign }),
    `check 'writes its own' $b touch ${directory}/probe-2`,
  ])
}

export function tryAsOutgoing({ launcher }: ProcessRunner): void {
  const closed = [...SECRETS, '/data/store', '/data/device.key', '/data/chat']
  const foreign = [...FOREIGN, '/data/store/probe', '/data/chat/probe', '/data/etcd/probe']
  check('outgoing', launcher, ordinary({ id: 1004, sacrifice: 700, closed, foreign }))
}

interface Ordinary {
  id: number
  sacrifice: number
  closed: readonly string[]
  foreign: readonly string[]
}

const ordinary = ({ id, sacrifice, closed, foreign }: Ordinary): string[] => [
  `check 'an ordinary user without further groups' same "$($b id -u) $($b id -g) $($b id -G)" '${id} ${id} ${id}'`,
  `check 'no capabilities in any set' same "$($b grep -c '^Cap.*:.0000000000000000$' /proc/self/status)" 5`,
  `check 'no port of challenges' no_port 443`,
  `check 'no new privileges' $b grep -q 'NoNewPrivs:.1$' /proc/self/status`,
  `check 'goes before the firmware when memory runs out' same "$($b cat /proc/self/oom_score_adj)" ${sacrifice}`,
  `check 'reads no secret of the system' all unreadable ${closed.join(' ')}`,
  `check 'writes nothing but its own' all unwritable ${foreign.join(' ')}`,
]

const check = (name: string, launcher: Launcher, checks: readonly string[]): void =>
  console.log(run(launcher, `name=${name}\n${checks.join('\n')}`).trim())

/** By a shell as that user; what it has said. */
function run(launcher: Launcher, script: string): string {
  const [program, ...parameters] = [...launcher, BUSYBOX, 'sh', '-c', `${FUNCTIONS}${script}`]
  const { stdout, stderr } = spawnSync(program!, parameters, { encoding: 'utf8', env: {} })
  return `${stdout}${stderr}`
}

const FUNCTIONS = `
b=${BUSYBOX}
check() {
  what=$1
  shift
  if "$@"; then echo "probe: $name: $what: holds"; else echo "probe: $name: $what: DOES NOT HOLD: $*"; fi
}
no_port() { $b timeout 2 $b nc -l -p $1 </dev/null 2>&1 | $b grep -q 'ermission denied'; }
same() { [ "$1" = "$2" ]; }
all() {
  how=$1
  shift
  for path; do $how "$path" || { echo "$path" is not "$how"; return 1; }; done
}
unreadable() { ! { $b ls "$1/" || $b head -c 1 "$1"; } >/dev/null 2>&1; }
unwritable() { ! $b touch "$1" 2>/dev/null; }
`
