// @test long 20
/** Prometheus Alertmanager, unmodified, fires and resolves into a channel: by its webhook receiver and by its Slack receiver. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { buildForTests } from '../../support/build.ts'
import { fileNeeds } from '../../support/tools.ts'
import { type Account, ask } from '../support/process.ts'
import { furnished } from './furnished.ts'
import { start, TIME_MS_MAX } from './python.ts'

await fileNeeds('openssl', 'prometheus-alertmanager')

let program: string
before(async () => {
  program = await buildForTests()
})

const DB_DOWN = {
  labels: { alertname: 'InstanceDown', instance: 'db-1:9100', severity: 'critical' },
  annotations: { summary: 'db-1 does not answer' },
  generatorURL: 'http://prometheus.example:9090/graph?g0.expr=up',
}

test('an alert fires and is resolved in a channel', async (t) => {
  const { port, owner, directory } = await furnished(t, program)
  const form = { full_name: 'Alerts', short_name: 'alerts', bot_type: '2' }
  const { body: bot } = await ask(port, 'POST', '/bots', { as: owner, form })
  const subscriptions = { subscriptions: '[{"name": "alerts"}]' }
  assert.equal((await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: subscriptions })).status, 200)

  const address = (integration: string) =>
    `https://127.0.0.1:${port}/api/v1/external/${integration}?api_key=${bot.api_key}&stream=alerts`
  const configuration = {
    global: { resolve_timeout: '5m', http_config: { tls_config: { ca_file: join(directory, 'ca.pem') } } },
    route: {
      receiver: 'chat',
      group_by: ['alertname'],
      group_wait: '100ms',
      group_interval: '1s',
      repeat_interval: '1h',
    },
    receivers: [
      {
        name: 'chat',
        webhook_configs: [{ url: address('alertmanager'), send_resolved: true }],
        slack_configs: [{ api_url: address('slack_incoming'), channel: '#on-call', send_resolved: true }],
      },
    ],
  }
  const file = join(directory, 'alertmanager.yml')
  writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 }) // JSON is YAML
  const alertmanager = start(t, directory, 'prometheus-alertmanager', [
    `--config.file=${file}`,
    `--storage.path=${join(directory, 'alertmanager')}`,
    '--web.listen-address=127.0.0.1:0',
    '--cluster.listen-address=',
  ])
  const listening = await until(
    () => / address=(127\.0\.0\.1:[1-9]\d*)/.exec(alertmanager.printed())?.[1],
    () => alertmanager.printed(),
  )
  const post = async (alert: object) => {
    const response = await fetch(`http://${listening}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([alert]),
    })
    assert.equal(response.status, 200, await response.text())
  }

  await post(DB_DOWN)
  const fired = await messagesOf(port, owner, 2, alertmanager.printed)
  assert.deepEqual(fired.map(({ subject }) => subject).sort(), ['db-1:9100', 'on-call'])
  const byWebhook = (subject: string) => (message: Message) => message.subject === subject
  assert.equal(
    fired.find(byWebhook('db-1:9100'))!.content,
    ':alert: **Firing**: InstanceDown: db-1 does not answer ([source](http://prometheus.example:9090/graph?g0.expr=up))',
  )
  assert.match(
    fired.find(byWebhook('on-call'))!.content,
    /^\*\*\[\[FIRING:1\] InstanceDown \(db-1:9100 critical\)\]\(http:/,
  )

  await post({ ...DB_DOWN, endsAt: new Date(Date.now() - 1000).toISOString() })
  const resolved = await messagesOf(port, owner, 4, alertmanager.printed)
  assert.match(resolved.findLast(byWebhook('db-1:9100'))!.content, /^:check: \*\*Resolved\*\*: InstanceDown/)
  assert.match(resolved.findLast(byWebhook('on-call'))!.content, /^\*\*\[\[RESOLVED\] InstanceDown/)
  for (const { sender_full_name: sender } of resolved) assert.equal(sender, 'Alerts')
  assert.doesNotMatch(alertmanager.printed(), /level=(?:warn|error)/)
})

interface Message {
  subject: string
  content: string
  sender_full_name: string
}

const messagesOf = (port: number, as: Account, count: number, failure: () => string): Promise<Message[]> =>
  until(async () => {
    const narrow = '[{"operator": "channel", "operand": "alerts"}]'
    const form = { anchor: 'newest', num_before: '100', num_after: '0', apply_markdown: 'false', narrow }
    const { body } = await ask(port, 'GET', '/messages', { as, form })
    const all = (body.messages as Message[]).filter(({ sender_full_name: sender }) => sender === 'Alerts')
    return all.length >= count ? all : undefined
  }, failure)

async function until<T>(look: () => Promise<T | undefined> | T | undefined, failure: () => string): Promise<T> {
  const deadline = Date.now() + TIME_MS_MAX
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    assert.ok(Date.now() < deadline, failure())
    await wait(200)
  }
}
