// @test long 45
/** `bao agent` logs in by AppRole again before each token ends. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { serve } from '@hono/node-server'
import { createApp } from '../../../firmware/app.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { environment, needsBao, start, until } from './bao.ts'
import { OPERATOR, say, switchWire, wiredRig } from './rig.ts'

/** Seconds; administrators set hours. */
const LIFETIME = 12

test('bao agent keeps a token over three lives of one', needsBao(), async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const value = { transit: 'on', tokenHours: LIFETIME / 3600 }
  Object.defineProperty(rig.appliance.configuration, 'interfaces', { value })
  const log = createLog('error', () => {})
  const info = { vendor: 'Coffer', product: 'Coffer', version: '1.2.3' }
  const { fetch } = createApp({ appliance: rig.appliance, log, info })
  const server = serve({ fetch: (request) => fetch(request), port: 0, hostname: '127.0.0.1' })
  t.after(() => server.close())
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const home = mkdtempSync(join(tmpdir(), 'coffer-agent-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  const sink = file('token', '')
  const config = file(
    'agent.hcl',
    `vault {
  address = "${address}"
}
auto_auth {
  method "approle" {
    mount_path = "auth/approle"
    config = {
      role_id_file_path                   = "${file('role', 'web')}"
      secret_id_file_path                 = "${file('secret', OPERATOR)}"
      remove_secret_id_file_after_reading = false
    }
  }
  sink "file" {
    config = {
      path = "${sink}"
    }
  }
}
`,
  )
  const agent = start(['agent', `-config=${config}`], environment(home, address))
  t.after(agent.end)
  const seen = new Set<string>()
  await until('four tokens', async () => {
    const token = readFileSync(sink, 'utf8').trim()
    if (token === '' || seen.has(token)) return false
    seen.add(token)
    const { status, body } = await say(rig, 'GET', 'auth/token/lookup-self', { token })
    assert.deepEqual([status, body.data.display_name], [200, 'approle'], agent.output())
    return seen.size === 4
  })
  const [first] = seen
  const { status } = await say(rig, 'GET', 'auth/token/lookup-self', { token: first! })
  assert.equal(status, 403, 'the first has ended')
})
