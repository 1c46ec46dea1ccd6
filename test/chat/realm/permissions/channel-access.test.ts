/** Access to channels: contract section 7.1. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type ChannelAccess,
  type ChannelKind,
  type ChannelRelation,
  channelKind,
  hasAccess,
} from '../../../../firmware/chat/realm/permissions/channel-access.ts'

const KINDS: readonly ChannelKind[] = ['webPublic', 'public', 'private']
const LETTERS: Readonly<Record<ChannelAccess, string>> = { metadata: 'm', content: 'c', subscribe: 's' }

/**
 * A caller, and their access to a web-public, a public and a private channel: m(etadata), c(ontent), s(ubscribe oneself).
 * "group" names the channel group that the caller is in.
 */
const TABLE: readonly [
  who: ChannelRelation['who'],
  beside: string,
  webPublic: string,
  isPublic: string,
  isPrivate: string,
][] = [
  ['spectator', '', '', '', ''],
  ['spectator', 'spectators', 'mc', '', ''],
  ['spectator', 'spectators subscribed', 'mc', '', ''],
  ['guest', '', 'mcs', '', ''],
  ['guest', 'subscribed', 'mcs', 'mc', 'mc'],
  ['guest', 'administersChannel', 'mcs', '', ''],
  ['guest', 'addsSubscribers', 'mcs', '', ''],
  ['guest', 'mayJoin', 'mcs', '', ''],
  ['guest', 'ownerFullContentAccess', 'mcs', '', ''],
  ['member', '', 'mcs', 'mcs', ''],
  ['member', 'subscribed', 'mcs', 'mcs', 'mc'],
  ['member', 'administersChannel', 'mcs', 'mcs', 'm'],
  ['member', 'addsSubscribers', 'mcs', 'mcs', 'mcs'],
  ['member', 'mayJoin', 'mcs', 'mcs', 'mcs'],
  ['member', 'ownerFullContentAccess', 'mcs', 'mcs', ''],
  ['administrator', '', 'mcs', 'mcs', 'm'],
  ['administrator', 'subscribed', 'mcs', 'mcs', 'mc'],
  ['administrator', 'ownerFullContentAccess', 'mcs', 'mcs', 'm'],
  ['owner', '', 'mcs', 'mcs', 'm'],
  ['owner', 'mayJoin', 'mcs', 'mcs', 'mcs'],
  ['owner', 'ownerFullContentAccess', 'mcs', 'mcs', 'mc'],
]

describe('Access to channels', () => {
  for (const [who, beside, ...expected] of TABLE) {
    it(`of ${who}${beside === '' ? '' : ` with ${beside}`}`, () => {
      const truths = new Set(beside.split(' '))
      const standing: ChannelRelation = {
        who,
        subscribed: truths.has('subscribed'),
        administersChannel: truths.has('administersChannel'),
        addsSubscribers: truths.has('addsSubscribers'),
        mayJoin: truths.has('mayJoin'),
      }
      const settings = {
        spectators: truths.has('spectators'),
        ownerFullContentAccess: truths.has('ownerFullContentAccess'),
      }
      const found = KINDS.map((kind) =>
        (Object.keys(LETTERS) as ChannelAccess[])
          .filter((access) => hasAccess(access, kind, standing, settings))
          .map((access) => LETTERS[access])
          .join(''),
      )
      assert.deepEqual(found, expected)
    })
  }

  it('takes a private channel for private, whatever else it says', () => {
    assert.equal(channelKind({ invite_only: true, is_web_public: true }), 'private')
    assert.equal(channelKind({ invite_only: false, is_web_public: true }), 'webPublic')
    assert.equal(channelKind({ invite_only: false, is_web_public: false }), 'public')
  })
})
