/** The work of a message that mentions many groups, counted in readings of members: contract section 6.4. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MutableCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import type { Group } from '../../../../firmware/chat/realm/model/records.ts'
import { chatSuite } from '../../support/suite.ts'

const GROUPS = 40
const READERS = 60

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

test('the members of a group are read once, however many groups with it in them are mentioned', async () => {
  const readers = Array.from({ length: READERS }, (_, n) => rig.account(`reader${n}`))
  const channel = rig.channel('square', [hamlet, ...readers])
  const ids = readers.slice(0, 30).map(({ user }) => user.id)
  const { group_id: shared } = await hamlet.post('/user_groups/create', {
    name: 'shared',
    description: '',
    members: ids,
  })
  const names = Array.from({ length: GROUPS }, (_, n) => `group${n}`)
  for (const name of names)
    await hamlet.post('/user_groups/create', { name, description: '', members: [], subgroups: [shared] })

  let readings = 0
  const groups = rig.chat.realm.state.group as MutableCollection<Group>
  const before = groups.get(shared)!
  const counted = new Proxy(before.members, {
    get(members, property) {
      if (property === 'includes' || property === Symbol.iterator) readings++
      return Reflect.get(members, property)
    },
  })
  groups.set(shared, { ...before, members: counted })
  const queues = [readers[0]!, readers.at(-1)!].map((reader) => reader.register({ event_types: ['message'] }))
  const [inGroup, outside] = await Promise.all(queues)
  readings = 0
  await hamlet.post('/messages', {
    type: 'stream',
    to: channel.id,
    topic: 't',
    content: names.map((name) => `@*${name}*`).join(' '),
  })
  assert.ok(readings >= 1 && readings <= 5, `${readings} readings`)
  groups.set(shared, before)
  assert.deepEqual((await inGroup!.events())[0].flags, ['mentioned'])
  assert.deepEqual((await outside!.events())[0].flags, [])
})
