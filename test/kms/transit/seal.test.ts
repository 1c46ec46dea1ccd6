// @test long 60
/** `bao server` with the seal "transit" over outages and time: a Coffer that locks, one that is Locked at the start, and 40 days. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort } from '../../../tools/free-ports.ts'
import { expect } from '../../support/appliance.ts'
import { ADMIN, UNLOCK } from '../../support/suite.ts'
import { BAO, environment, isAnswering, needsBao, run, start, startCofferForBao, until } from './bao.ts'

async function sealedServer(t: TestContext) {
  const { appliance, home, url: coffer, token } = await startCofferForBao(t, { autounseal: [] })
  const own = `http://127.0.0.1:${await freePort()}`
  const config = join(home, 'server.hcl')
  writeFileSync(
    config,
    `api_addr = "${own}"
cluster_addr = "http://127.0.0.1:${await freePort()}"
storage "raft" {
  path    = "${home}"
  node_id = "one"
}
listener "tcp" {
  address     = "${own.slice('http://'.length)}"
  tls_disable = true
}
seal "transit" {
  address         = "${coffer}"
  token           = "${token}"
  key_name        = "autounseal"
  mount_path      = "transit/"
  tls_skip_verify = "true"
}
`,
  )
  const askServer = (...args: string[]) => run(BAO, args, environment(home, own))
  const begin = () => {
    const server = start(['server', `-config=${config}`], environment(home, own))
    t.after(server.end)
    return server
  }
  const isUnsealed = () =>
    askServer('status').then(
      (text) => /Sealed +false/.test(text),
      () => false,
    )
  return { appliance, own, askServer, begin, isUnsealed }
}

test('bao server unseals after restarts, after Coffer was locked, and 40 days later', needsBao(), async (t) => {
  const { appliance, own, askServer, begin, isUnsealed } = await sealedServer(t)
  const lock = () => expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  const unlock = () => expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))

  const first = begin()
  await until('it answers', () => isAnswering(own), first.output)
  const init = ['operator', 'init', '-recovery-shares=1', '-recovery-threshold=1', '-format=json']
  assert.ok(JSON.parse(await askServer(...init)).root_token)
  assert.ok(await isUnsealed())
  await lock()
  assert.ok(await isUnsealed(), 'it runs on while Coffer is Locked')
  await unlock()
  await first.end()

  const second = begin()
  await until('it unseals again', isUnsealed, second.output)
  await lock()
  await second.end()

  const third = begin()
  assert.notEqual(await third.ended, 0)
  assert.match(third.output(), /Vault is sealed/)
  await unlock()
  const fourth = begin()
  await until('it unseals after the unlock', isUnsealed, fourth.output)
  await fourth.end()

  const time = new Date(Date.now() + 40 * 24 * 3600 * 1000).toISOString()
  await expect(204, appliance.call('PUT', '/config/time', { as: ADMIN, json: { time } }))
  const fifth = begin()
  await until('it unseals 40 days later', isUnsealed, fifth.output)
})
