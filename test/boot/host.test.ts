import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SettingsError } from '../../boot/base/settings-error.ts'
import { LockError } from '../../boot/host/directory-lock.ts'
import { openHost } from '../../boot/host/host-platform.ts'
import type { Platform } from '../../boot/platform.ts'

function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-host-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function open(t: TestContext, dataDirectory: string): Platform {
  const platform = openHost({
    dataDirectory,
    host: '127.0.0.1',
    port: 0,
    httpPort: null,
    chatPort: 0,
    console: true,
    logLevel: 'info',
    etcdPath: null,
    isolatedMaxMs: 0,
    releaseKeyPath: null,
  })
  t.after(() => {
    try {
      closeSync(platform.lock!)
    } catch {} // closed by the test
  })
  return platform
}

function keyOf(platform: Platform): Uint8Array {
  const opened = platform.deviceKey()
  assert.ok('key' in opened)
  return opened.key
}

test('makes a data directory that only its owner can enter, with the store in a directory of its own', (t) => {
  const directory = join(makeDirectory(t), 'a', 'b')
  const { settings } = open(t, directory)
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  assert.equal(settings.dataDirectory, join(directory, 'store'))
  assert.equal(statSync(settings.dataDirectory).mode & 0o777, 0o700)
})

test('follows a symbolic link, so that the firmware may use the directory behind it', (t) => {
  const directory = makeDirectory(t)
  mkdirSync(join(directory, 'real'))
  symlinkSync('real', join(directory, 'link'))
  assert.equal(open(t, join(directory, 'link')).settings.dataDirectory, join(directory, 'real', 'store'))
})

for (const [what, path, why] of [
  ['a file', import.meta.filename, /cannot be used: it is not a directory/],
  ['below a file', join(import.meta.filename, 'x'), /cannot be used: it is not a directory/],
  ['in a file system that takes none', '/proc/coffer', /cannot be used: no such file or directory/],
] as const) {
  test(`a data directory that is ${what} is refused in one line`, (t) => {
    assert.throws(
      () => open(t, path),
      (error) => error instanceof SettingsError && why.test(error.message) && !error.message.includes('\n'),
    )
  })
}

for (const mode of [0o700, 0o755, 0o1777]) {
  test(`a directory of mode ${mode.toString(8)} that holds other things is left as it is`, (t) => {
    const directory = makeDirectory(t)
    for (const name of ['etc', 'lost+found', 'lock']) mkdirSync(join(directory, name))
    chmodSync(directory, mode)
    const before = { mode: statSync(directory).mode, entries: readdirSync(directory) }
    assert.throws(
      () => open(t, directory),
      (error) =>
        error instanceof SettingsError &&
        /it is there for other things, and holds nothing of Coffer's/.test(error.message),
    )
    assert.deepEqual({ mode: statSync(directory).mode, entries: readdirSync(directory) }, before)
  })
}

test('once it is ours, other things in it do not matter; nor do those in the place of tools', (t) => {
  for (const name of ['store', 'development.key', 'slots']) {
    const directory = makeDirectory(t)
    mkdirSync(join(directory, 'etc'))
    if (name !== 'development.key') mkdirSync(join(directory, name))
    else writeFileSync(join(directory, name), '')
    closeSync(open(t, directory).lock!)
  }
})

test('an empty file system is taken, and what a first start that was cut short has left; not where all put files', (t) => {
  const directory = makeDirectory(t)
  mkdirSync(join(directory, 'lost+found'))
  writeFileSync(join(directory, 'lock'), '')
  chmodSync(directory, 0o755)
  closeSync(open(t, directory).lock!)
  const everybodys = makeDirectory(t)
  chmodSync(everybodys, 0o1777)
  assert.throws(() => open(t, everybodys), SettingsError)
})

test('a user who cannot write into the data directory gets one line', (t) => {
  const directory = makeDirectory(t)
  chmodSync(directory, 0o555)
  // Root writes everywhere by its capability alone.
  const ordinary =
    process.getuid!() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'] : []
  const command = [...ordinary, process.execPath, join(import.meta.dirname, '../../boot/main.ts')]
  const { status, stderr, stdout } = spawnSync(command[0]!, command.slice(1), {
    env: { PATH: process.env.PATH, COFFER_DATA: directory, COFFER_PORT: '0' },
    encoding: 'utf8',
    timeout: 60_000,
  })
  assert.equal(status, 1, stdout)
  assert.match(stderr, /^Coffer does not start: the data directory .+ cannot be used: permission denied .*\.\n$/)
})

test('refuses a data directory in use, and takes it once it is free', (t) => {
  const directory = makeDirectory(t)
  const first = open(t, directory)
  assert.throws(
    () => open(t, directory),
    (error) => error instanceof LockError && error.message.includes(`another Coffer is running on ${directory}`),
  )
  closeSync(first.lock!)
  open(t, directory)
})

test('a reboot starts the firmware again, a shutdown ends', async (t) => {
  const platform = open(t, makeDirectory(t))
  const key = keyOf(platform)
  assert.equal(await platform.perform('reboot'), 'start')
  assert.deepEqual(await platform.perform('shutdown'), { exitCode: 0 })
  assert.deepEqual(keyOf(platform), key)
})

test('a factory reset erases the store and the device key, and the next start makes a new one', async (t) => {
  const directory = makeDirectory(t)
  const platform = open(t, directory)
  const key = keyOf(platform)
  writeFileSync(join(platform.settings.dataDirectory, 'records'), 'x')
  mkdirSync(join(directory, 'etcd', 'data'), { recursive: true })
  platform.prepare('factoryReset')
  assert.equal(await platform.perform('factoryReset'), 'start')
  assert.deepEqual(readdirSync(directory).sort(), ['lock', 'store'])
  assert.deepEqual(readdirSync(platform.settings.dataDirectory), [])
  assert.notDeepEqual(keyOf(platform), key)
})

test('a factory reset that is prepared is finished at the next start', (t) => {
  const directory = makeDirectory(t)
  const first = open(t, directory)
  writeFileSync(join(first.settings.dataDirectory, 'records'), 'x')
  first.prepare('factoryReset')
  closeSync(first.lock!)
  const second = open(t, directory)
  assert.equal(existsSync(join(directory, 'factory-reset')), false)
  assert.deepEqual(readdirSync(second.settings.dataDirectory), [])
  assert.equal(keyOf(second).length, 32)
})
