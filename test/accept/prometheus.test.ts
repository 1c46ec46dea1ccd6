/** The metrics as Prometheus reads them, and for whom they are JSON. Contract sections 1.5 and 4.8. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { needsPython, PYTHON } from '../support/tools.ts'

const program = join(import.meta.dirname, 'prometheus.py')

const TEXT = 'text/plain; version=0.0.4; charset=utf-8'
/** As Prometheus 2.42 sends it. */
const SCRAPER =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'

interface Family {
  name: string
  type: string
  help: string
  samples: { name: string; labels: Record<string, string>; value: number }[]
}

function parse(text: string): Map<string, Family> {
  const { status, stdout, stderr } = spawnSync(PYTHON, [program], { input: text, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  const families: Family[] = JSON.parse(stdout)
  const byName = new Map(families.map((family) => [family.name, family]))
  assert.equal(byName.size, families.length, 'each family stands once')
  return byName
}

describe('metrics for Prometheus', () => {
  let appliance: Appliance
  let metrics: string
  before(async () => {
    appliance = await startProvisioned()
    metrics = await addUser(appliance, 'metrics', 'Metrics')
    const json = { id: 'key', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
    await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
    const operator = await addUser(appliance, 'operator', 'Operator')
    const sign = { as: operator, json: { mode: 'EdDSA', message: 'AAAA' } }
    for (let count = 0; count < 3; count++) await expect(200, appliance.call('POST', '/keys/key/sign', sign))
    await expect(404, appliance.call('GET', '/keys/none', { as: ADMIN }))
  })
  after(() => appliance?.dispose())

  const read = (accept?: string) =>
    appliance.call('GET', '/metrics', { as: metrics, ...(accept !== undefined && { headers: { accept } }) })

  test('JSON unless text is liked better', async () => {
    for (const accept of [undefined, '*/*', 'application/json', 'application/json, text/plain', 'text/plain, */*']) {
      const reply = await expect(200, read(accept))
      assert.equal(reply.headers['content-type'], 'application/json', String(accept))
      assert.equal(reply.json<Record<string, string>>().generate, '1')
    }
    for (const accept of ['text/plain', 'text/*', 'TEXT/PLAIN;version=0.0.4', 'application/json;q=0.5, text/plain']) {
      const reply = await expect(200, read(accept))
      assert.equal(reply.headers['content-type'], TEXT, accept)
      assert.equal(reply.headers['cache-control'], 'no-cache')
      assert.match(reply.text(), /^# HELP /)
    }
    assert.equal((await expect(200, read(SCRAPER))).headers['content-type'], TEXT)
    assert.equal((await expect(406, read('text/html'))).headers['content-type'], 'application/json')
    const refused = { as: ADMIN, headers: { accept: 'text/plain' } }
    assert(JSON.parse((await expect(403, appliance.call('GET', '/metrics', refused))).text()).message)
  })

  test('a parser of Prometheus reads them, and they say what the JSON says', needsPython(), async () => {
    const earlier = (await read()).json<Record<string, string>>()
    const text = (await read(SCRAPER)).text()
    const later = (await read()).json<Record<string, string>>()
    const families = parse(text)
    const value = (name: string, labels: Record<string, string> = {}): number => {
      const samples = families.get(name)?.samples ?? []
      const wanted = JSON.stringify(labels)
      const found = samples.filter((sample) => JSON.stringify(sample.labels) === wanted)
      assert.equal(found.length, 1, `${name} ${wanted} in\n${text}`)
      return found[0]!.value
    }
    const between = (name: string, key: string, labels?: Record<string, string>) => {
      const found = value(name, labels)
      assert(Number(earlier[key]) <= found && found <= Number(later[key]), `${key}: ${found}`)
    }
    // The parser names a counter without its `_total`.
    const types: Record<string, string> = {
      coffer_uptime_seconds: 'gauge',
      coffer_http_responses: 'counter',
      coffer_http_response_seconds: 'gauge',
      coffer_store_writes: 'counter',
      coffer_log_entries: 'counter',
      coffer_heap_bytes: 'gauge',
      coffer_gc_collections: 'counter',
      coffer_key_operations: 'counter',
      coffer_state: 'gauge',
      coffer_keys: 'gauge',
      coffer_key_versions: 'gauge',
      coffer_users: 'gauge',
      coffer_access_keys: 'gauge',
      coffer_wire_requests: 'counter',
      coffer_tls_certificate_end_timestamp_seconds: 'gauge',
      coffer_last_backup_timestamp_seconds: 'gauge',
      coffer_http_response_duration_seconds: 'histogram',
      coffer_alert: 'gauge',
      coffer_chat_state: 'gauge',
      coffer_disk_bytes: 'gauge',
      coffer_disk_free_bytes: 'gauge',
      coffer_disk_reserve_bytes: 'gauge',
    }
    assert.deepEqual(Object.fromEntries([...families].map(([name, { type }]) => [name, type])), types)
    for (const { name, type, help, samples } of families.values()) {
      assert.match(help, /^[A-Z].*\.$/, name)
      assert(samples.length > 0, name)
      for (const sample of samples) {
        if (type === 'histogram') assert.match(sample.name.slice(name.length), /^_(bucket|sum|count)$/)
        else assert.equal(sample.name, type === 'counter' ? `${name}_total` : name)
        assert(Number.isFinite(sample.value) && sample.value >= 0, name)
      }
    }

    between('coffer_uptime_seconds', 'uptime')
    between('coffer_store_writes', 'kv write')
    between('coffer_log_entries', 'log warnings', { level: 'warning' })
    between('coffer_log_entries', 'log errors', { level: 'error' })
    between('coffer_gc_collections', 'gc major collections', { kind: 'major' })
    between('coffer_gc_collections', 'gc minor collections', { kind: 'minor' })
    for (const operation of ['generate', 'sign', 'decrypt', 'encrypt'])
      between('coffer_key_operations', operation, { operation })
    assert.equal(value('coffer_key_operations', { operation: 'sign' }), 3)
    assert(value('coffer_heap_bytes') > 1_000_000)
    assert.equal(value('coffer_chat_state', { state: 'none' }), 1)
    assert(value('coffer_http_response_seconds') > 0)

    const statuses = families.get('coffer_http_responses')!.samples.map(({ labels }) => labels.status!)
    assert(statuses.includes('201') && statuses.includes('404'))
    for (const status of statuses) between('coffer_http_responses', `http response ${status}`, { status })
    const sum = families.get('coffer_http_responses')!.samples.reduce((sum, { value }) => sum + value, 0)
    assert(Number(earlier['http response total']) <= sum && sum <= Number(later['http response total']))
  })
})
