/** Changes of user groups give and take rights, so that each has a line in the audit log. Contract section 1.6. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import { chatSuite } from '../support/suite.ts'

const acts: ChatAuditEvent[] = []
const { rig, hamlet, iago } = await chatSuite(
  { hamlet: 'member', iago: 'administrator' },
  { record: (act) => void acts.push(act) },
)

const told = () =>
  acts.splice(0).map(({ user, method, path, result, facts, share }) => [user, method, path, result, facts, share.of])

test('each change of a group is told with numbers alone; what reads groups is not', async () => {
  const { group_id } = await iago.post('/user_groups/create', { name: 'secret plan', description: 'd', members: [] })
  const { group_id: other } = await iago.post('/user_groups/create', { name: 'b', description: 'd', members: [] })
  await iago.patch(`/user_groups/${group_id}`, { description: 'new' })
  await iago.post(`/user_groups/${group_id}/members`, { add: [hamlet.user.id] })
  await iago.post(`/user_groups/${group_id}/subgroups`, { add: [other] })
  await iago.get('/user_groups')
  await iago.get(`/user_groups/${group_id}/members`)
  await iago.post(`/user_groups/${group_id}/subgroups`, { delete: [other] })
  await iago.post(`/user_groups/${other}/deactivate`)
  await iago.delete(`/user_groups/${group_id}`)
  const named = { user_group_id: group_id }
  assert.deepEqual(told(), [
    [iago.user.id, 'POST', '/user_groups/create', 200, { made: group_id }, 'administrators'],
    [iago.user.id, 'POST', '/user_groups/create', 200, { made: other }, 'administrators'],
    [iago.user.id, 'PATCH', '/user_groups/{user_group_id}', 200, named, 'administrators'],
    [iago.user.id, 'POST', '/user_groups/{user_group_id}/members', 200, named, 'administrators'],
    [iago.user.id, 'POST', '/user_groups/{user_group_id}/subgroups', 200, named, 'administrators'],
    [iago.user.id, 'POST', '/user_groups/{user_group_id}/subgroups', 200, named, 'administrators'],
    [iago.user.id, 'POST', '/user_groups/{user_group_id}/deactivate', 200, { user_group_id: other }, 'administrators'],
    [iago.user.id, 'DELETE', '/user_groups/{user_group_id}', 200, named, 'administrators'],
  ])
})

test('a refused change is told, and a member spends the share of accounts', async () => {
  const { group_id } = await iago.post('/user_groups/create', { name: 'kings', description: 'd', members: [] })
  told()
  assert.notEqual((await hamlet.call('PATCH', `/user_groups/${group_id}`, { name: 'mine' })).status, 200)
  await rig.owner.post(`/user_groups/${group_id}/members`, { add: [hamlet.user.id] })
  await hamlet.post('/user_groups/create', { name: 'princes', description: 'd', members: [] })
  const [refused, added, made] = told()
  assert.deepEqual([refused![0], refused![3], refused![5]], [hamlet.user.id, 403, 'accounts'])
  assert.deepEqual([added![0], added![5]], [rig.owner.user.id, 'administrators'])
  assert.equal(made![5], 'accounts')
})
