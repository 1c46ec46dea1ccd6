import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { groupValue, groupValueUpdate, sameGroupValue } from '../../../../firmware/chat/realm/model/group-value.ts'

describe('group-setting values', () => {
  it('a group without members and with one subgroup is that group', () => {
    assert.equal(groupValue.parse({ direct_members: [], direct_subgroups: [7, 7] }), 7)
    assert.deepEqual(groupValue.parse({ direct_members: [1], direct_subgroups: [7] }), {
      direct_members: [1],
      direct_subgroups: [7],
    })
  })

  it('the order and repetition of ids make no other value', () => {
    const ids = fc.array(fc.nat(20), { maxLength: 8 })
    fc.assert(
      fc.property(ids, ids, (direct_members, direct_subgroups) => {
        const once = groupValue.parse({ direct_members, direct_subgroups })
        const again = groupValue.parse({
          direct_members: [...direct_members, ...direct_members].reverse(),
          direct_subgroups: [...direct_subgroups].reverse(),
        })
        assert.ok(sameGroupValue(once, again))
        assert.deepEqual(groupValue.parse(once), once)
      }),
    )
  })

  it('tells values apart that differ in one id', () => {
    const value = groupValue.parse({ direct_members: [1, 2], direct_subgroups: [] })
    for (const other of [
      1,
      { direct_members: [1], direct_subgroups: [2] },
      { direct_members: [1, 3], direct_subgroups: [] },
    ]) {
      assert.equal(sameGroupValue(value, groupValue.parse(other)), false)
    }
  })

  it('refuses what is no id, no list of ids, or names far too many', () => {
    const many = Array.from({ length: 1001 }, (_, id) => id)
    for (const bad of [
      -1,
      1.5,
      '3',
      null,
      [],
      {},
      { direct_members: [1] },
      { direct_members: ['1'], direct_subgroups: [] },
      { direct_members: many, direct_subgroups: [] },
      { direct_members: [], direct_subgroups: many },
    ]) {
      assert.equal(groupValue.safeParse(bad).success, false, JSON.stringify(bad)?.slice(0, 60))
    }
  })

  it('an update needs what is new, and may say what it replaces', () => {
    assert.deepEqual(groupValueUpdate.parse({ new: 4 }), { new: 4 })
    assert.deepEqual(groupValueUpdate.parse({ new: 4, old: { direct_members: [], direct_subgroups: [5] } }), {
      new: 4,
      old: 5,
    })
    assert.equal(groupValueUpdate.safeParse({ old: 4 }).success, false)
    assert.equal(groupValueUpdate.safeParse(4).success, false)
  })
})
