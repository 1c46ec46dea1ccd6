import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { CofferError } from '../../firmware/base/error.ts'
import { databaseOf, type StoreOptions } from '../../firmware/store/sqlite/file.ts'
import { MIGRATIONS } from '../../firmware/store/sqlite/schema.ts'
import { commit, createStoreRig, DEVICE_KEY, digestDirectory, type StoreRig, text, utf8 } from './rig.ts'

const HOLDER = fileURLToPath(new URL('holder.ts', import.meta.url))

function assertRefused(rig: StoreRig, reason: RegExp, options: Partial<StoreOptions> = {}): void {
  const before = digestDirectory(rig.directory)
  assert.throws(
    () => rig.open(options),
    (error) => error instanceof CofferError && error.code === 'storage' && reason.test(error.message),
  )
  assert.deepEqual(digestDirectory(rig.directory), before)
}

async function fill(rig: StoreRig): Promise<void> {
  const store = rig.open()
  const vault = rig.vault(store)
  for (let n = 0; n < 50; n++) {
    await commit(vault, [{ collection: 'keys', name: `n${n}`, value: utf8(`value ${n}`.repeat(20)) }])
  }
  store.close()
}

function assertIntact(rig: StoreRig, options: Partial<StoreOptions> = {}): void {
  const store = rig.open(options)
  const vault = rig.vault(store)
  for (let n = 0; n < 50; n++) assert.equal(text(vault.get('keys', `n${n}`)), `value ${n}`.repeat(20))
  store.close()
}

function edit(path: string, offset: number, ...bytes: number[]): void {
  const content = readFileSync(path)
  content.set(bytes, offset)
  writeFileSync(path, content)
}

test('a new store is for its owner only, in a directory for its owner only', async (t) => {
  const rig = createStoreRig(t)
  const directory = join(rig.directory, 'made', 'below')
  const store = rig.open({ dataDirectory: directory })
  await commit(rig.vault(store), [{ collection: 'keys', name: 'n', value: utf8('v') }])
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name)
  assert.deepEqual(readdirSync(directory).sort(), ['store.db', 'store.db-wal', 'store.lock'])
  store.close()
  assert.deepEqual(readdirSync(directory).sort(), ['store.db', 'store.lock'])
})

test('commits are on disk when they return', (t) => {
  const database = databaseOf(createStoreRig(t).open())
  assert.equal(database.pragma('journal_mode', { simple: true }), 'wal')
  assert.equal(database.pragma('synchronous', { simple: true }), 2)
  assert.equal(database.pragma('secure_delete', { simple: true }), 1)
  assert.equal(database.pragma('temp_store', { simple: true }), 2)
})

test('what was written is there after closing and opening again', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  assertIntact(rig)
})

test('closing twice is closing once', (t) => {
  const store = createStoreRig(t).open()
  store.close()
  store.close()
})

test('a start that was cut short while making the store leaves nothing in the way of the next', async (t) => {
  const rig = createStoreRig(t)
  writeFileSync(`${rig.path}.new`, 'half-made')
  writeFileSync(`${rig.path}.new-wal`, 'half-made')
  await fill(rig)
  assertIntact(rig)
  assert.deepEqual(readdirSync(rig.directory).sort(), ['store.db', 'store.lock'])
})

test('a store of another device is refused', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  const deviceKey = DEVICE_KEY.slice()
  deviceKey[0]! ^= 1
  assertRefused(rig, /belongs to another device/, { deviceKey })
  assertIntact(rig)
})

test('an older store is migrated, each migration once and whole', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  const runs: number[] = []
  const migrations = [
    ...MIGRATIONS,
    (database: Sqlite.Database) => {
      runs.push(2)
      database.exec('CREATE TABLE second (a BLOB) STRICT; INSERT INTO second VALUES (zeroblob(5))')
    },
    (database: Sqlite.Database) => {
      runs.push(3)
      database.exec('ALTER TABLE second ADD COLUMN b BLOB')
    },
  ]
  for (let start = 0; start < 2; start++) {
    assertIntact(rig, { migrations })
    // On a start that finds them done, only the model that the schema is compared with runs them.
    assert.deepEqual(runs.splice(0), [2, 3])
  }
})

test('a migration that fails leaves the store in the version before it', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  const broken = (database: Sqlite.Database): void => {
    database.exec('CREATE TABLE second (a BLOB) STRICT')
    throw new Error('broken migration')
  }
  assert.throws(() => rig.open({ migrations: [...MIGRATIONS, broken] }), /broken migration/)
  assertIntact(rig)
})

test('a store of newer software is refused untouched', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  const store = rig.open({ migrations: [...MIGRATIONS, (database) => database.exec('CREATE TABLE next (a) ')] })
  store.close()
  assertRefused(rig, new RegExp(`^The store has version ${MIGRATIONS.length + 1}, this software knows up to`))
})

test('a store whose version was edited is refused', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  edit(rig.path, 60, 0, 0, 0, 0)
  assertRefused(rig, /damaged in its header/)
  edit(rig.path, 60, 0x80, 0, 0, 1)
  assertRefused(rig, /damaged in its header/)
  const migrations = [...MIGRATIONS, (database: Sqlite.Database) => database.exec('CREATE TABLE next (a)')]
  edit(rig.path, 60, 0, 0, 0, MIGRATIONS.length + 1)
  assertRefused(rig, /damaged in its schema/, { migrations })
})

test('what is no store is refused untouched', (t) => {
  const rig = createStoreRig(t)
  for (const content of ['', 'x', 'SQLite', 'SQLite format 3\0', 'some other file '.repeat(1000)]) {
    writeFileSync(rig.path, content)
    assertRefused(rig, content === '' || content.startsWith('SQLite') ? /truncated/ : /is not a store/)
  }
})

test('a database of another program is refused untouched', (t) => {
  const rig = createStoreRig(t)
  const other = new Sqlite(rig.path)
  other.exec('CREATE TABLE other (a)')
  other.close()
  assertRefused(rig, /store\.db is a database of another program/)
})

test('a directory in the place of the store is refused', (t) => {
  const rig = createStoreRig(t)
  mkdirSync(rig.path)
  assert.throws(() => rig.open(), CofferError)
})

test('a store cut off at any length is refused untouched', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  const whole = readFileSync(rig.path)
  const lengths = [0, 1, 16, 99, 100, 511, 512, 4095, 4096, 4097, 8192, whole.length - 4096, whole.length - 1]
  for (const length of lengths) {
    writeFileSync(rig.path, whole.subarray(0, length))
    assertRefused(rig, /truncated/)
  }
  writeFileSync(rig.path, whole)
  assertIntact(rig)
})

test('a store that is gone while its log is there is refused untouched', (t) => {
  const rig = createStoreRig(t)
  spawnSync(process.execPath, [HOLDER, rig.directory, 'die'])
  renameSync(rig.path, `${rig.path}-elsewhere`)
  assertRefused(rig, /store is missing/)
})

test('bytes after the end of a store change nothing', async (t) => {
  const rig = createStoreRig(t)
  await fill(rig)
  appendFileSync(rig.path, 'trailing')
  assertIntact(rig)
})

test('a killed process loses nothing it committed', (t) => {
  const rig = createStoreRig(t)
  spawnSync(process.execPath, [HOLDER, rig.directory, 'die'])
  assert.ok(statSync(`${rig.path}-wal`).size > 0)
  const vault = rig.vault(rig.open())
  for (let n = 0; n < 20; n++) assert.equal(text(vault.get('keys', `held ${n}`)), 'by another')
})

test('after a kill a store that is refused is refused untouched, its log included', (t) => {
  const rig = createStoreRig(t)
  spawnSync(process.execPath, [HOLDER, rig.directory, 'die'])
  const deviceKey = DEVICE_KEY.slice()
  deviceKey[0]! ^= 1
  assertRefused(rig, /belongs to another device/, { deviceKey })
  edit(rig.path, 100, 0xff)
  truncateSync(rig.path, 8192)
  assertRefused(rig, /^The store is damaged/)
})

test('a store in use by another process is refused until that ends', async (t) => {
  const rig = createStoreRig(t)
  const holder = spawn(process.execPath, [HOLDER, rig.directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  assertRefused(rig, /in use by another process/)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  assert.equal(text(rig.vault(rig.open()).get('keys', 'held 19')), 'by another')
})

test('a native binding can be given by its path', (t) => {
  const rig = createStoreRig(t)
  const packaged = fileURLToPath(new URL('../../node_modules/better-sqlite3/prebuilds/', import.meta.url))
  const nativeBinding = join(packaged, `${process.platform}-${process.arch}.node`)
  assert.ok(existsSync(nativeBinding))
  rig.open({ nativeBinding }).close()
  assert.throws(() => rig.open({ nativeBinding: join(rig.directory, 'none.node') }))
})
