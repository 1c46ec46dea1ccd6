import assert from 'node:assert/strict'
import test from 'node:test'
import { type Membership, openMembership } from '../../../firmware/cluster/membership/record.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { openDeviceArea } from '../../../firmware/store/device-area.ts'
import { createStoreRig, DEVICE_KEY } from '../../store/rig.ts'

const MEMBERSHIP: Membership = {
  stage: 'member',
  name: 'ABCDEFGHIJ',
  peerUrl: 'https://192.0.2.1:2380',
  token: 'a token',
  clusterId: 'cdf818194e3a8c32',
  memberId: '8e9e05c52164694d',
  least: { generation: 'AB', head: { format: 1, n: 3, sets: {} } },
}

test('is kept with the store, in its transactions and sealed by the device key', (t) => {
  const rig = createStoreRig(t)
  const store = rig.open()
  const device = openDeviceArea(store, DEVICE_KEY, systemRandom, () => {})
  const row = openMembership(device)
  assert.equal(row.read(), null)
  assert.throws(() =>
    store.transaction(() => {
      row.put(MEMBERSHIP)
      throw new Error('and so it is not')
    }),
  )
  assert.equal(row.read(), null)
  store.transaction(() => row.put(MEMBERSHIP))
  store.close()

  const again = rig.open()
  const readAgain = openMembership(openDeviceArea(again, DEVICE_KEY, systemRandom, () => {}))
  assert.deepEqual(readAgain.read(), MEMBERSHIP)
  again.transaction(() => readAgain.remove())
  assert.equal(readAgain.read(), null)
})
