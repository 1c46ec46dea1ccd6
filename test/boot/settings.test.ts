import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { SettingsError } from '../../boot/base/settings-error.ts'
import { readSettings } from '../../boot/host/settings.ts'

test('settings have defaults', () => {
  assert.deepEqual(readSettings({ HOME: '/somewhere' }), {
    dataDirectory: resolve('./var'),
    host: '127.0.0.1',
    port: 8443,
    httpPort: null,
    chatPort: 9443,
    console: true,
    logLevel: 'info',
    etcdPath: null,
    isolatedMaxMs: 86_400_000,
    releaseKeyPath: null,
  })
})

test('settings are read from the environment', () => {
  const environment = {
    COFFER_DATA: '/data',
    COFFER_HOST: '::1',
    COFFER_PORT: '0',
    COFFER_HTTP_PORT: '80',
    COFFER_CHAT_PORT: '0',
    COFFER_CONSOLE: 'off',
    COFFER_ETCD: '/usr/bin/etcd',
    COFFER_ISOLATED_MAX: '60',
    COFFER_LOG: 'debug',
    COFFER_RELEASE_KEY: '/keys/release.pub',
  }
  assert.deepEqual(readSettings(environment), {
    dataDirectory: '/data',
    host: '::1',
    port: 0,
    httpPort: 80,
    chatPort: 0,
    console: false,
    logLevel: 'debug',
    etcdPath: '/usr/bin/etcd',
    isolatedMaxMs: 60_000,
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
  ['COFFER_ETCD', ''],
  ['COFFER_ISOLATED_MAX', ''],
  ['COFFER_ISOLATED_MAX', '1h'],
  ['COFFER_ISOLATED_MAX', '-1'],
  ['COFFER_CHAT_PORT', ''],
  ['COFFER_CHAT_PORT', '70000'],
  ['COFFER_CONSOLE', 'no'],
  ['COFFER_HOST', ''],
  ['COFFER_HOST', '127.0.0'],
  ['COFFER_HOST', 'example.org'],
  ['COFFER_HTPP_PORT', '80'],
  ['COFFER_WEB_PORT', 'http://10.96.0.7:443'],
  ['COFFER_WEB_HOST', '10.96.0.7'],
  ['COFFER_SERVICE', 'x'],
  ['COFFER_SERVICE_PROT', '443'],
  ['COFFER_PORT_443_TCP_PORTS', '443'],
  ['COFFER_PORT', 'http://10.96.0.7:443'],
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

test('what orchestrators tell a container of a service named coffer is no setting, nor are those of our own tools', () => {
  const injected = {
    COFFER_PORT: 'tcp://10.96.0.7:443',
    COFFER_PORT_443_TCP: 'tcp://10.96.0.7:443',
    COFFER_PORT_443_TCP_ADDR: '10.96.0.7',
    COFFER_PORT_443_TCP_PORT: '443',
    COFFER_PORT_443_TCP_PROTO: 'tcp',
    COFFER_SERVICE_HOST: '10.96.0.7',
    COFFER_SERVICE_PORT: '443',
    COFFER_SERVICE_PORT_HTTPS: '443',
    COFFER_HTTP_PORT: 'tcp://10.96.0.8:80', // of a service named coffer-http
    COFFER_HTTP_PORT_80_TCP: 'tcp://10.96.0.8:80',
    COFFER_HTTP_SERVICE_HOST: '10.96.0.8',
    COFFER_WEB_API_PORT: 'udp://10.96.0.9:443',
    COFFER_WEB_API_SERVICE_PORT_HTTPS: '443',
    COFFER_NAME: '/app/coffer',
    COFFER_ENV_NODE_VERSION: '24',
    COFFER_QEMU_ACCEL: 'kvm',
    COFFER_PROFILE: 'office',
    COFFER_PASSPHRASE: 'words of somebody',
    COFFER_ASKPASS: '/usr/bin/ask',
  }
  assert.deepEqual(readSettings(injected), readSettings({}))
})
