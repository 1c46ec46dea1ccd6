/** Messages of the boot manager about etcd, sent here by the test. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { createEtcdService } from '../../../firmware/cluster/etcd/service.ts'

const START = {
  how: 'run',
  name: 'a',
  peerUrl: 'https://127.0.0.1:2380',
  members: [],
  token: 'token',
  tls: null,
} as const

test('a removal that was heard while nobody cared is heard again when etcd was run and has ended over it', async () => {
  const service = createEtcdService({
    socket: '/nowhere',
    send: () =>
      setImmediate(() =>
        service.receive({ type: 'etcdResult', problem: null, hasData: true, state: { running: true } }),
      ),
  })
  const removal = { type: 'etcdEnded', problem: 'ended with exit code 0', isRemoved: true } as const
  let heard = 0
  service.onRemoved(() => heard++)
  service.receive(removal)
  await service.run(START)
  service.receive({ ...removal, isRemoved: false })
  assert.equal(heard, 1)
  service.receive(removal)
  assert.equal(heard, 2)
})
