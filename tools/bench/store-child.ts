/**
 * One step of store.ts in a process of its own, by the code of a version's sources: fills a store with keys, or opens it and
 * says how much processor time of this thread that took, the first time and once the code is warm; or stores the counts of all
 * keys and removes their namespace, and says what the longest turn took.
 */

import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { ApplianceOptions } from '../../firmware/appliance/options.ts'
import { threadMs } from '../../firmware/base/batch-size.ts'
import { collectGarbage } from '../../firmware/base/garbage.ts'
import type { Caller } from '../../firmware/kms/domain/roles.ts'
import type { Change } from '../../firmware/store/store.ts'
import type { Vault } from '../../firmware/store/vault.ts'
import { watchTurns } from './turns.ts'

const BATCH = 2_000 // keys in one transaction
const WARM_OPENINGS = 3
const NAMESPACE = 'bench'
const DEVICE_KEY = new Uint8Array(32).fill(7)
const domainKey = () => new Uint8Array(32).fill(3)

const [step, root, dataDirectory, keys] = process.argv.slice(2) as [string, string, string, string]
const load = <T>(path: string): Promise<T> => import(join(root, 'firmware', path))

const { openStore } = await load<typeof import('../../firmware/store/sqlite/file.ts')>('store/sqlite/file.ts')
const { openVault } = await load<typeof import('../../firmware/store/vault.ts')>('store/vault.ts')
const { systemRandom } = await load<typeof import('../../firmware/crypto/random.ts')>('crypto/random.ts')
const { openDomain } =
  await load<typeof import('../../firmware/kms/domain/operational.ts')>('kms/domain/operational.ts')
const { createLog } = await load<typeof import('../../firmware/base/log.ts')>('base/log.ts')
const { createClock } = await load<typeof import('../../firmware/base/clock.ts')>('base/clock.ts')
const { keyName } = await load<typeof import('../../firmware/kms/domain/identifiers.ts')>('kms/domain/identifiers.ts')
const { encodeKey } = await load<typeof import('../../firmware/kms/domain/key-record.ts')>('kms/domain/key-record.ts')
// versions before collections were declared have none of these
const collections = await load<typeof import('../../firmware/kms/domain/collections.ts')>(
  'kms/domain/collections.ts',
).then(
  ({ COLLECTION_NAMES }) => COLLECTION_NAMES,
  () => [],
)

const services = {
  pool: { forget() {} } as unknown as ApplianceOptions['pool'],
  random: systemRandom,
  log: createLog('error', () => {}),
  clock: createClock(),
  member: 'bench',
}
const store = openStore({ dataDirectory, deviceKey: DEVICE_KEY })
if (step === 'fill') await fill(Number(keys))
else if (step === 'turns') console.log(JSON.stringify(await longestTurns()))
else {
  const cold = open()
  const warm = Array.from({ length: WARM_OPENINGS }, open).at(-1)
  console.log(JSON.stringify({ cold, warm }))
}
store.close()

function vaultOf() {
  return openVault(store, domainKey(), systemRandom, console.error, collections)
}

/** Milliseconds. */
function open(): number {
  const before = threadMs()
  const vault = vaultOf()
  const domain = openDomain(vault, { ...services, deriveKey: () => new Uint8Array(32) })
  const spentMs = threadMs() - before
  domain.keys.get(NAMESPACE, `key-${Number(keys) - 1}`) // throws where keys are missing
  domain.close()
  vault.close()
  return spentMs
}

/** Milliseconds of processor time. */
async function longestTurns(): Promise<{ counts: number; removal: number }> {
  const vault = vaultOf()
  const domain = openDomain(vault, { ...services, deriveKey: () => new Uint8Array(32) })
  const count = (n: number) => domain.keys.count(domain.keys.get(NAMESPACE, `key-${n}`))
  collectGarbage() // of what opening has left, which a turn of the counts would end
  count(0)
  await domain.flush(true) // no first time, in which code is compiled
  for (let n = 0; n < Number(keys); n++) count(n)
  const { longestMs: counts } = await watchTurns(async () => domain.flush(true))
  const admin = { userId: 'admin', namespace: '', role: 'Administrator' } as Caller
  const { longestMs: removal } = await watchTurns(async () => {
    await domain.namespaces.remove(admin, NAMESPACE, domain.keys)
    while (domain.namespaces.doomed().length > 0) await wait(20)
  })
  domain.close()
  vault.close()
  return { counts, removal }
}

async function fill(count: number): Promise<void> {
  const vault = vaultOf()
  await write(vault, [{ collection: 'namespaces', name: NAMESPACE, value: new TextEncoder().encode(NAMESPACE) }])
  for (let first = 0; first < count; first += BATCH) {
    const changes = Array.from({ length: Math.min(BATCH, count - first) }, (_, i) =>
      changesOf(`key-${first + i}`),
    ).flat()
    await write(vault, changes)
  }
  if ('settle' in vault) vault.settle()
  vault.close()
}

/** Versions before `change` have `commit`. */
async function write(vault: Vault, changes: readonly Change[]): Promise<void> {
  if ('commit' in vault) (vault.commit as (changes: readonly Change[]) => void)(changes)
  else await vault.change(() => ({ changes, result: undefined }))
}

function changesOf(id: string): Change[] {
  const name = keyName(NAMESPACE, id)
  const value = encodeKey(
    {
      namespace: NAMESPACE,
      id,
      type: 'EC_P256',
      typeName: 'EC_P256',
      mechanisms: ['ECDSA_Signature'],
      tags: [],
      label: '',
      operations: 0,
      certificate: null,
    },
    { data: new Uint8Array(65) },
  )
  return [
    { collection: 'keys', name, value },
    { collection: 'privateKeys', name, value: new Uint8Array(150) },
  ]
}
