/** The UUID of an organization: contract 4.2, level 466. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import { openTestChat, type TestChat } from '../support/chat.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const uuidOf = async (rig: TestChat): Promise<string> =>
  (await rig.owner.register({ fetch_event_types: ['realm'] })).snapshot.realm_uuid

test('an organization has one UUID from its beginning, another one than others', async () => {
  const rigs = [await openTestChat(), await openTestChat()]
  try {
    const [one, other] = await Promise.all(rigs.map(uuidOf))
    assert.match(one!, UUID)
    assert.match(other!, UUID)
    assert.notEqual(one, other)
    rigs[0]!.reopen()
    assert.equal(await uuidOf(rigs[0]!), one)
  } finally {
    for (const rig of rigs) rig.close()
  }
})

test('an organization of an older version is given one at its next start, and keeps it', async () => {
  const rig = await openTestChat()
  try {
    const { realm } = rig.chat
    const { uuid: first, ...older } = organizationOf(realm.state)
    realm.transaction((tx) => tx.put('organization', older))
    rig.reopen()
    const given = await uuidOf(rig)
    assert.match(given, UUID)
    assert.notEqual(given, first)
    rig.reopen()
    assert.equal(await uuidOf(rig), given)
  } finally {
    rig.close()
  }
})
