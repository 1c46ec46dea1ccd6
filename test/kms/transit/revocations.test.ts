// @test long 30
/** Many revocations: by CI jobs, and by the holder of a stolen token. Contract section 7.9. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Token } from '../../../firmware/kms/domain/tokens.ts'
import { expect } from '../../support/appliance.ts'
import { logIn, OPERATOR, say, switchWire, wiredRig } from './rig.ts'

const MANY = { code: 'tooManyAttempts' }
const HOUR = 3600

async function busyRig() {
  const rig = await wiredRig()
  await switchWire(rig, 'on')
  const { users, tokens, accessKeys } = rig.appliance.open()
  const caller = () => users.caller('web')!
  const logInAs = () => tokens.issue(caller(), 'userpass', HOUR)
  const child = (parent: Token) => tokens.issue(caller(), 'token', HOUR, parent)
  const kept = () => users.get('web').revocations.length
  return { rig, tokens, accessKeys, caller, logInAs, child, kept }
}

/** Revokes until it is refused; returns how many were. */
async function revokeAll(revoke: () => Promise<void>): Promise<number> {
  for (let n = 0; n < 2000; n++)
    try {
      await revoke()
    } catch (error) {
      assert.equal((error as { code?: string }).code, MANY.code)
      return n
    }
  return 2000
}

test('the holder of a stolen token cannot use up the revocations of its user, nor keep it from being revoked', async (t) => {
  const { rig, tokens, logInAs, child, kept } = await busyRig()
  t.after(() => rig.close())
  const stolen = logInAs()
  assert.equal(await revokeAll(() => tokens.revoke(child(stolen))), 500)
  const mine = logInAs()
  await tokens.revoke(mine)
  assert.equal(tokens.read(mine.text), null)
  assert.ok(tokens.read(stolen.text))
  assert.equal(kept(), 501)
  await tokens.revoke(stolen)
  assert.equal(tokens.read(stolen.text), null)
  assert.equal(kept(), 2, 'what ended with the stolen token is forgotten')
  const next = logInAs()
  await tokens.revoke(child(next))
  assert.ok(tokens.read(next.text))
})

test('a stolen token of any generation can be revoked after its own have used up theirs', async (t) => {
  const { rig, tokens, logInAs, child } = await busyRig()
  t.after(() => rig.close())
  const line = [logInAs()]
  for (let generation = 1; generation < 8; generation++) line.push(child(line.at(-1)!))
  for (const stolen of line.reverse()) {
    await revokeAll(() => tokens.revoke(child(stolen)))
    await tokens.revoke(stolen)
    assert.equal(tokens.read(stolen.text), null)
  }
})

test('what an access key was used for is forgotten with it, and what was made with it has ended', async (t) => {
  const { rig, tokens, accessKeys, caller, child, kept } = await busyRig()
  t.after(() => rig.close())
  const key = await accessKeys.create(caller(), 'web', 'ci')
  const parent = tokens.read(key.token)!
  const [revoked, other] = [child(parent), child(parent)]
  await tokens.revoke(revoked)
  assert.equal(await revokeAll(() => tokens.revoke(child(parent))), 499)
  await accessKeys.remove(caller(), 'web', key.id)
  assert.equal(kept(), 0)
  for (const { text } of [parent, revoked, other]) assert.equal(tokens.read(text), null)
})

test('two thousand revocations push no change out of the audit log, not even the smallest', async (t) => {
  const { rig, logInAs } = await busyRig()
  t.after(() => rig.close())
  const as = { as: 'admin' }
  await expect(204, rig.call('PUT', '/config/audit', { ...as, json: { lines: 1000 } }))
  const changes = async () => {
    const { lines } = (await expect(200, rig.call('GET', '/audit?limit=1000', as))).json()
    const ofChanges = lines.filter(({ kind }: { kind: string }) => kind === 'change')
    return ofChanges.map(({ sequence }: { sequence: number }) => sequence)
  }
  const earlier = await changes()
  assert.ok(earlier.length > 0)
  let [done, refused] = [0, 0]
  for (let n = 0; n < 2000; n++) {
    const { status } = await say(rig, 'POST', 'auth/token/revoke-self', { token: logInAs().text })
    if (status === 204) done++
    else if (status === 429) refused++
  }
  assert.deepEqual([done, refused], [1000, 1000])
  assert.deepEqual(await changes(), earlier)
  const all = (await expect(200, rig.call('GET', '/audit?limit=1000', as))).json().lines
  const ofRevocations = all.filter(({ action }: { action: string }) => action.includes('revoke-self'))
  assert.ok(ofRevocations.length <= 101, `${ofRevocations.length} lines of refused revocations`)
  assert.ok(await logIn(rig, 'web', OPERATOR))
})

test('revocations of tokens that have expired make room', async (t) => {
  const { rig, tokens, caller, logInAs, kept } = await busyRig()
  t.after(() => rig.close())
  await Promise.all(Array.from({ length: 999 }, () => tokens.revoke(logInAs())))
  for (let n = 0; n < 10; n++) await tokens.revoke(tokens.issue(caller(), 'userpass', 0))
  assert.equal(kept(), 1000)
  await tokens.revoke(logInAs())
  await assert.rejects(tokens.revoke(logInAs()), MANY)
})
