/** The dashboard for Grafana and the configuration for Prometheus ask for what the appliance tells. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import test, { type TestContext } from 'node:test'
import { createTraffic } from '../../firmware/http/server/traffic.ts'
import { BASE_PATH } from '../../firmware/kms/pipeline/endpoint.ts'
import { operationalRig } from '../support/in-process.ts'
import { needs } from '../support/tools.ts'

const tools = resolve(import.meta.dirname, '../../tools')

interface Panel {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { expr: string }[]
}

const dashboard = JSON.parse(readFileSync(join(tools, 'grafana.json'), 'utf8')) as {
  panels: Panel[]
  templating: { list: { name: string; query: { query: string } }[] }
}
const questions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
const variables = dashboard.templating.list

const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(job|instance)/g, '.*')

async function metrics(t: TestContext): Promise<string> {
  const traffic = createTraffic()
  for (const status of [200, 404]) traffic.record(status, 0.1)
  const rig = await operationalRig(t, { traffic })
  return (await rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })).text()
}

test('every metric of the dashboard is in the text for Prometheus', async (t) => {
  const text = await metrics(t)
  const told = new Set([...text.matchAll(/^(?:# TYPE )?(coffer_\w+)/gm)].map(([, name]) => name!))
  const asked = [...questions, ...variables.map(({ query }) => query.query)].flatMap((expr) =>
    expr.match(/\bcoffer_\w+/g),
  )
  assert.ok(asked.length > 10)
  for (const name of asked) assert.ok(name !== null && told.has(name), `${name} is not in\n${text}`)
})

test('the panels stand beside each other, each with a title, and use no variable that is not there', () => {
  const names = new Set(variables.map(({ name }) => name))
  const taken = new Set<string>()
  for (const { id, title, gridPos, targets } of dashboard.panels) {
    assert.ok(title !== '' && targets.length > 0, `${id}`)
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!taken.has(`${x} ${y}`), title)
        taken.add(`${x} ${y}`)
      }
    for (const { expr } of targets)
      for (const [, name] of expr.matchAll(/\$(\w+)/g)) assert.ok(names.has(name!) || name === '__rate_interval', expr)
  }
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
})

test('Prometheus understands the metrics, the questions and the configuration', needs('promtool'), async (t) => {
  const text = await metrics(t)
  // Exit code 3 would be for matters of style.
  execFileSync('promtool', ['check', 'metrics'], { input: text, stdio: ['pipe', 'ignore', 'pipe'] })

  const directory = mkdtempSync(join(tmpdir(), 'coffer-prometheus-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const rules = questions.map((expr, index) => ({ record: `question:${index}`, expr: filledIn(expr) }))
  const file = join(directory, 'rules.yml')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
  execFileSync('promtool', ['check', 'rules', file], { stdio: 'pipe' })
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'broken', rules: [{ record: 'a', expr: 'rate(b)' }] }] }))
  assert.throws(() => execFileSync('promtool', ['check', 'rules', file], { stdio: 'pipe' }))

  const configuration = join(tools, 'prometheus.yml')
  execFileSync('promtool', ['check', 'config', '--syntax-only', configuration], { stdio: 'pipe' })
  assert.match(readFileSync(configuration, 'utf8'), new RegExp(`metrics_path: ${BASE_PATH}/metrics\n`))
})
