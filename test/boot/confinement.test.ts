/** Native code that an attacker can run in a taken-over firmware, and what it reaches on a host. */

import assert from 'node:assert/strict'
import { chmodSync, closeSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openHost } from '../../boot/host/host-platform.ts'
import { launch } from '../../boot/supervisor/firmware-process.ts'
import { ownFirmware } from '../../boot/supervisor/own-firmware.ts'
import { provision } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const ADDON = join(ROOT, `node_modules/better-sqlite3/prebuilds/linux-${process.arch}.node`)
const isRoot = process.geteuid!() === 0

const openPlatform = (t: TestContext, data: string, settings = {}) => {
  const lines: string[] = []
  const platform = openHost(
    {
      dataDirectory: data,
      host: '127.0.0.1',
      port: 0,
      httpPort: null,
      chatPort: 0,
      console: true,
      logLevel: 'info',
      etcdPath: null,
      isolatedMaxMs: 0,
      releaseKeyPath: null,
      ...settings,
    },
    (line) => lines.push(line),
  )
  t.after(() => closeSync(platform.lock!))
  return { platform, lines }
}

/** Returns the output of a program that runs as the firmware does. `attempt` prints whether something works. */
async function run(t: TestContext, data: string, source: string, settings = {}): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-taken-over-'))
  t.after(() => rmSync(directory, { recursive: true }))
  chmodSync(directory, 0o755)
  const program = join(directory, 'program.ts')
  const imports = `
    import module, { createRequire } from 'node:module'
    import { readFileSync, writeFileSync } from 'node:fs'
    import threads from 'node:worker_threads'
    import { once } from 'node:events'
    import Sqlite from '${ROOT}/node_modules/better-sqlite3/lib/index.js'
    import { refuseNativeCode, Worker } from '${ROOT}/firmware/base/confinement.ts'
    import { forgetExtensions } from '${ROOT}/firmware/store/sqlite/file.ts'
    const attempt = async (name, action) => {
      try { await action(); console.log(name + ': works') } catch (error) { console.log(name + ': ' + (error.code ?? error.name)) }
    }
    const store = process.cwd()
    const load = (path = store + '/evil.node') => process.dlopen({ exports: {} }, path)\n`
  writeFileSync(program, imports + source)
  chmodSync(program, 0o644)
  const { platform } = openPlatform(t, data, settings)
  const { readable } = ownFirmware()
  platform.slots.choose()
  const child = launch(
    {
      serves: 'firmware',
      launcher: platform.launcher,
      program,
      readable: [...readable, `${directory}/`, `${ROOT}/firmware/`, `${ROOT}/boot/`],
      storeDirectory: platform.settings.dataDirectory,
      heapMegabytes: 64,
    },
    null,
  )
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  await new Promise((done) => child.on('close', done))
  return output.trimEnd().split('\n')
}

const BRING = `writeFileSync(store + '/evil.node', readFileSync('${ADDON}'))\n`

test('once the store is open no native code is loaded, in no thread', async (t) => {
  const lines = await run(
    t,
    makeDataDirectory(t),
    `${BRING}
    const database = new Sqlite(store + '/x.db')
    const symbol = Object.getOwnPropertySymbols(database)[0]
    await attempt('before', load)
    forgetExtensions()
    const ours = new Worker('process.on("message", () => {})', { eval: true })
    refuseNativeCode()
    await attempt('dlopen', load)
    await attempt('require', () => createRequire(import.meta.url)(store + '/evil.node'))
    await attempt('extension', () => database.loadExtension(store + '/evil.node'))
    await attempt('extension underneath', () => database[symbol].loadExtension(store + '/evil.node'))
    await attempt('extension of another database', () => {
      const other = new Sqlite(':memory:')
      other[Object.getOwnPropertySymbols(other)[0]].loadExtension(store + '/evil.node')
    })
    await attempt('a thread', () => new threads.Worker('', { eval: true }))
    await attempt('a thread by another import', async () => new (await import('node:worker_threads')).Worker('', { eval: true }))
    await attempt('a thread by another way', () => new (process.getBuiltinModule('worker_threads').Worker)('', { eval: true }))
    await attempt('a thread like ours', () => new (ours.constructor)('', { eval: true }).postMessage())
    await attempt('a thread of hooks', () => module.register('file://' + store + '/hooks.mjs'))
    await attempt('the database', () => database.exec('CREATE TABLE x (y)'))
    await ours.terminate()`,
  )
  assert.deepEqual(lines, [
    'before: works',
    'dlopen: ERR_ACCESS_DENIED',
    'require: ERR_ACCESS_DENIED',
    'extension: TypeError',
    'extension underneath: TypeError',
    'extension of another database: TypeError',
    'a thread: TypeError',
    'a thread by another import: TypeError',
    'a thread by another way: TypeError',
    'a thread like ours: TypeError',
    'a thread of hooks: TypeError',
    'the database: works',
  ])
})

test('threads of ours drop it themselves', async (t) => {
  const lines = await run(
    t,
    makeDataDirectory(t),
    `${BRING}
    writeFileSync(store + '/thread.mjs', \`
      import { refuseNativeCode, Worker } from '${ROOT}/firmware/base/confinement.ts'
      refuseNativeCode()
      try { process.dlopen({ exports: {} }, process.cwd() + '/evil.node'); console.log('works') } catch ({ code }) { console.log(code) }\`)
    await once(new Worker(store + '/thread.mjs'), 'exit')`,
  )
  assert.deepEqual(lines, ['ERR_ACCESS_DENIED'])
  const worker = readFileSync(join(ROOT, 'firmware/crypto/pool/worker.ts'), 'utf8')
  assert.match(worker, /function serve\(port: MessagePort\): void \{\n {2}refuseNativeCode\(\)/)
})

const OUTSIDE = `
  await attempt('attach', () => {
    const database = new Sqlite(store + '/x.db')
    database.prepare('ATTACH ? AS other').run(store + '/../planted.db')
    database.exec('CREATE TABLE other.x (y)')
  })
  await attempt('read', () => new Sqlite(':memory:').prepare('ATTACH ? AS other').run('file:' + store + '/../device.key?mode=ro'))
  const [user] = /Uid:\\t(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8')).slice(1)
  console.log('user ' + user)`

test('on a host that starts as root, native code of the firmware reaches its store and nothing else of ours', async (t) => {
  const data = makeDataDirectory(t)
  const status = `await attempt('status', () => readFileSync('/proc/self/status'))\n`
  if (!isRoot) {
    const { platform } = openPlatform(t, data)
    assert.deepEqual(platform.launcher.slice(1), ['--no-new-privs'])
    return
  }
  const { platform } = openPlatform(t, makeDataDirectory(t))
  assert.ok('key' in platform.deviceKey())
  const source = OUTSIDE.slice(0, OUTSIDE.indexOf('const [user]'))
  writeFileSync(join(data, 'device.key'), Buffer.alloc(32, 7), { mode: 0o600 })
  assert.deepEqual(await run(t, data, source + status), [
    'attach: SQLITE_CANTOPEN',
    'read: SQLITE_CANTOPEN',
    'status: ERR_ACCESS_DENIED',
  ])
  assert.equal(existsSync(join(data, 'planted.db')), false)
})

test('the whole of Coffer runs so', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = startCoffer(t, { program: await buildForTests(), data })
  await provision(coffer)
  const status = readFileSync(`/proc/${await coffer.firmwarePid()}/status`, 'utf8')
  assert.match(status, /^NoNewPrivs:\t1$/m)
  if (isRoot) {
    assert.match(status, /^Uid:\t60700\t60700\t60700\t60700$/m)
    assert.match(status, /^Gid:\t60700\t60700\t60700\t60700$/m)
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      assert.match(status, new RegExp(`^${set}:\\t0000000000000000$`, 'm'))
  }
  assert.equal(await coffer.stop(), 0)
})

test('as root a reserved port is still to be had, and nothing else that root may', async (t) => {
  if (!isRoot) return
  const lines = await run(
    t,
    makeDataDirectory(t),
    `
    import { createServer } from 'node:net'
    await attempt('listen', async () => {
      const server = createServer()
      server.listen(987, '127.0.0.1')
      await once(server, 'listening')
      server.close()
    })
    await attempt('change the user', () => process.setuid(0))`,
    { port: 987 },
  )
  assert.deepEqual(lines, ['listen: works', 'change the user: EPERM'])
})

test('where another user cannot reach the program, root says that it goes on as root', async (t) => {
  if (!isRoot) return
  const parent = makeDataDirectory(t)
  chmodSync(parent, 0o700)
  const { platform, lines } = openPlatform(t, join(parent, 'data'))
  assert.deepEqual(platform.launcher, [])
  assert.match(lines.join(), /runs as root, so native code in it could read the device key: another user cannot reach/)
})
