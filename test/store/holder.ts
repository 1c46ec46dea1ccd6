/** A process that opens the store, writes one record, says so, and waits to be killed, or with `die` kills itself. */

import { systemRandom } from '../../firmware/crypto/random.ts'
import { COLLECTION_NAMES } from '../../firmware/kms/domain/collections.ts'
import { openStore } from '../../firmware/store/sqlite/file.ts'
import { openVault } from '../../firmware/store/vault.ts'
import { commit } from './rig.ts'

const [dataDirectory, then] = process.argv.slice(2)
const store = openStore({ dataDirectory: dataDirectory!, deviceKey: new Uint8Array(32).fill(7) })
const vault = openVault(store, new Uint8Array(32).fill(3), systemRandom, () => {}, COLLECTION_NAMES)
for (let n = 0; n < 20; n++) {
  await commit(vault, [{ collection: 'keys', name: `held ${n}`, value: new TextEncoder().encode('by another') }])
}
if (then === 'die') process.kill(process.pid, 'SIGKILL')
store.checkpoint()
process.stdout.write('held\n')
setInterval(() => {}, 60_000)
