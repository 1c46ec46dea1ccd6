/** Facts and settings of the appliance. */

import assert from 'node:assert/strict'
import { expect } from '../support/appliance.ts'
import { ADMIN, as, type Check, METRICS, OPERATOR } from './check.ts'

export const self: Check[] = [
  {
    section: '4.1',
    name: 'info and diagnosis have their members',
    async run(appliance) {
      const info = (await expect(200, appliance.call('GET', '/info'))).json<Record<string, unknown>>()
      assert.deepEqual(Object.keys(info).sort(), ['product', 'vendor'])
      assert(typeof info.product === 'string' && info.product !== '' && typeof info.vendor === 'string')
      const diagnosis = (await expect(200, appliance.call('GET', '/health/diagnose', as(ADMIN)))).json<{
        clusterLogs: { level: string }[]
        clusterState: { running: boolean }
      }>()
      assert.equal(typeof diagnosis.clusterLogs[0]!.level, 'string')
      assert.equal(typeof diagnosis.clusterState.running, 'boolean')
    },
  },
  {
    section: '3.1',
    name: 'API documents are served without credentials',
    async run(appliance) {
      for (const path of ['/openapi.json', '/openapi.yaml', '/api.raml', '//docs']) {
        const reply = await expect(200, appliance.call('GET', path))
        assert(reply.bytes.length > 1000, path)
      }
    },
  },
  {
    section: '4.8',
    name: 'metrics are strings under the names that clients look for',
    async run(appliance) {
      const read = async () =>
        (await expect(200, appliance.call('GET', '/metrics', as(METRICS)))).json<Record<string, string>>()
      await read()
      const metrics = await read()
      for (const [name, value] of Object.entries(metrics)) assert.equal(typeof value, 'string', name)
      for (const name of [
        'uptime',
        'kv write',
        'log warnings',
        'log errors',
        'gc compactions',
        'gc major bytes',
        'gc major collections',
        'gc minor collections',
        'generate',
        'sign',
        'decrypt',
        'encrypt',
      ]) {
        assert.match(metrics[name] ?? 'missing', /^\d+(\.\d+)?$/, name)
      }
      await expect(
        200,
        appliance.call('POST', '/keys/ed/sign', as(OPERATOR, { json: { mode: 'EdDSA', message: 'AAAA' } })),
      )
      const later = await read()
      assert.equal(Number(later.sign), Number(metrics.sign) + 1)
    },
  },
  {
    section: '4.8',
    name: 'metrics count what the port has answered',
    needs: ['port'],
    async run(appliance) {
      const read = async () => (await expect(200, appliance.call('GET', '/metrics', as(METRICS)))).json()
      const metrics = await read()
      for (const what of ['total', '200', '201', '204', 'time'])
        assert.match(metrics[`http response ${what}`] ?? 'missing', /^\d+(\.\d+)?$/, what)
      assert(Number((await read())['http response total']) > Number(metrics['http response total']))
    },
  },
  {
    section: '3.4',
    name: 'unattended boot is on or off',
    async run(appliance) {
      const path = '/config/unattended-boot'
      const put = (json: unknown) => appliance.call('PUT', path, as(ADMIN, { json }))
      const status = async () => (await expect(200, appliance.call('GET', path, as(ADMIN)))).json()
      assert.deepEqual(await status(), { status: 'off' })
      for (const json of [{ status: 'yes' }, { status: 'ON' }, { status: 'on', more: 1 }, {}])
        await expect(400, put(json))
      await expect(204, put({ status: 'on' }))
      assert.deepEqual(await status(), { status: 'on' })
      await expect(204, put({ status: 'off' }))
    },
  },
]
