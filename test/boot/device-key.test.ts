import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDeviceKey } from '../../boot/base/device-key-file.ts'

function makeDisk(t: TestContext): { key: string; store: string } {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-key-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const store = join(directory, 'store')
  mkdirSync(store)
  return { key: join(directory, 'device.key'), store }
}

const keyOf = (opened: ReturnType<typeof openDeviceKey>): Uint8Array => {
  assert.ok('key' in opened)
  return opened.key
}

const problemOf = (opened: ReturnType<typeof openDeviceKey>): string => {
  assert.ok('problem' in opened)
  return opened.problem
}

test('the first start makes a key that only its owner can read', (t) => {
  const { key, store } = makeDisk(t)
  const made = keyOf(openDeviceKey(key, store))
  assert.equal(made.length, 32)
  assert.ok(new Set(made).size > 8, 'looks random')
  assert.deepEqual(new Uint8Array(readFileSync(key)), made)
  assert.equal(statSync(key).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(key, '..')).sort(), ['device.key', 'store'])
})

test('later starts read the same key, with and without a store', (t) => {
  const { key, store } = makeDisk(t)
  const made = keyOf(openDeviceKey(key, store))
  assert.deepEqual(keyOf(openDeviceKey(key, store)), made)
  writeFileSync(join(store, 'anything'), '')
  assert.deepEqual(keyOf(openDeviceKey(key, store)), made)
})

test('two first starts make different keys', (t) => {
  const [one, other] = [makeDisk(t), makeDisk(t)]
  assert.notDeepEqual(keyOf(openDeviceKey(one.key, one.store)), keyOf(openDeviceKey(other.key, other.store)))
})

test('a store without its key gets no new one', (t) => {
  const { key, store } = makeDisk(t)
  writeFileSync(join(store, 'anything'), '')
  assert.match(problemOf(openDeviceKey(key, store)), /device\.key is missing/)
  assert.equal(existsSync(key), false)
})

test('a key of another size is refused and left alone', (t) => {
  for (const size of [0, 31, 33, 4096]) {
    const { key, store } = makeDisk(t)
    writeFileSync(key, Buffer.alloc(size))
    assert.match(problemOf(openDeviceKey(key, store)), new RegExp(`has ${size} bytes`))
    assert.equal(statSync(key).size, size)
  }
})

test('a key that cannot be read is refused', (t) => {
  const { key, store } = makeDisk(t)
  mkdirSync(key)
  assert.match(problemOf(openDeviceKey(key, store)), /device\.key/)
})

test('what an interrupted first start left behind is no key', (t) => {
  const { key, store } = makeDisk(t)
  writeFileSync(`${key}.new`, Buffer.alloc(7))
  assert.equal(keyOf(openDeviceKey(key, store)).length, 32)
  assert.equal(existsSync(`${key}.new`), false)
})
