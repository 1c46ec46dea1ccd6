/** All that README.md beside this lists, one after another: `make bench`. Those that compare versions take `--before`. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const PROGRAMS =
  'primitives appliance mixed softhsm2 growth store audit-cost syslog transit cluster chat chat-beside chat-sessions chat-push unlock-crowd render start command page scroll versions chart'
const COMPARE = ['store', 'transit', 'versions']

for (const name of PROGRAMS.split(' ')) {
  const parameters = COMPARE.includes(name) ? process.argv.slice(2) : []
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`), ...parameters], {
    stdio: 'inherit',
  })
  if (status !== 0) {
    console.error(`${name}.ts has failed`)
    process.exit(status ?? 1)
  }
}
