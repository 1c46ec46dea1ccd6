import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { readSettings, SettingsError } from '../../boot/settings.ts'

test('settings have defaults', () => {
  assert.deepEqual(readSettings({ HOME: '/somewhere' }), {
    dataDirectory: resolve('./var'),
    host: '127.0.0.1',
    port: 8443,
    httpPort: null,
    logLevel: 'info',
    releaseKeyPath: null,
  })
})

test('settings are read from the environment', () => {
  const environment = {
    COFFER_DATA: '/data',
    COFFER_HOST: '::1',
    COFFER_PORT: '0',
    COFFER_HTTP_PORT: '80',
    COFFER_LOG: 'debug',
    COFFER_RELEASE_KEY: '/keys/release.pub',
  }
  assert.deepEqual(readSettings(environment), {
    dataDirectory: '/data',
    host: '::1',
    port: 0,
    httpPort: 80,
    logLevel: 'debug',
    releaseKeyPath: '/keys/release.pub',
  })
})

test('an empty port of plain HTTP is none', () => {
  assert.equal(readSettings({ COFFER_HTTP_PORT: '' }).httpPort, null)
})

const REFUSED: [name: string, value: string][] = [
  ['COFFER_PROT', '8443'],
  ['COFFER_', ''],
  ['COFFER_data', './var'],
  ['COFFER_DATA', ''],
  ['COFFER_DATA', '/data/*'],
  ['COFFER_RELEASE_KEY', ''],
  ['COFFER_HOST', ''],
  ['COFFER_HOST', '127.0.0'],
  ['COFFER_HOST', 'example.org'],
  ['COFFER_PORT', ''],
  ['COFFER_PORT', '65536'],
  ['COFFER_PORT', '-1'],
  ['COFFER_PORT', '0x50'],
  ['COFFER_PORT', '80 '],
  ['COFFER_PORT', '8443.5'],
  ['COFFER_HTTP_PORT', '-1'],
  ['COFFER_HTTP_PORT', 'off'],
  ['COFFER_LOG', ''],
  ['COFFER_LOG', 'INFO'],
  ['COFFER_LOG', 'verbose'],
]

for (const [name, value] of REFUSED) {
  test(`refuses ${name}=${JSON.stringify(value)} by name`, () => {
    assert.throws(
      () => readSettings({ [name]: value }),
      (error) => error instanceof SettingsError && error.message.startsWith(`${name} `),
    )
  })
}
