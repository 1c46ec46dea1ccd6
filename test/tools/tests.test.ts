/** The runner of the tests: all that it is to run is run, and once; what fails in it fails the run; what was skipped is listed. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readMark, share, type TestFile, testFiles, testNames } from '../../tools/tests/marks.ts'

const ROOT = join(import.meta.dirname, '../..')
const PROGRAM = join(ROOT, 'tools/tests.ts')

const BUSY_S = 1
const FILES = {
  good: "import { test } from 'node:test'\ntest('good', () => {})\n",
  bad: "import { test } from 'node:test'\ntest('bad', () => { throw new Error('as it should') })\n",
  todo: "import { test } from 'node:test'\ntest('late', { todo: 'faster' }, () => { throw new Error('slow') })\n",
  silent: 'process.exit(0)\n',
  gone: 'process.exit(3)\n',
  broken: 'this is no program\n',
  partial: `import { test } from 'node:test'
test('all', async (t) => {
  await t.test('part', { skip: 'to run this: sudo apt install zsh cpio' }, () => {})
  await t.test('other part', { skip: 'to run this: sudo apt install cpio' }, () => {})
})
`,
  busy: `import { test } from 'node:test'
test('works', () => {
  while (process.cpuUsage().user < ${BUSY_S * 1e6});
})
`,
} as const

function makeDirectory(t: TestContext, files: Record<string, string>): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-tests-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

function runTool(...parameters: string[]) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env // or it would report to the runner of this test
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...parameters], { env, encoding: 'utf8' })
  return { status, text: stdout + stderr }
}

function runFiles(t: TestContext, ...names: (keyof typeof FILES)[]) {
  const directory = makeDirectory(t, Object.fromEntries(names.map((name) => [`${name}.test.mjs`, FILES[name]])))
  const list = join(directory, 'skipped')
  const result = runTool('--skipped', list, ...names.map((name) => join(directory, `${name}.test.mjs`)))
  return { ...result, skipped: readFileSync(list, 'utf8') }
}

test('the processor seconds of test files are counted', (t) => {
  const { text } = runFiles(t, 'busy')
  const [, seconds] = /^Processor seconds: ([\d.]+)$/m.exec(text)!
  assert.ok(Number(seconds) >= BUSY_S, text)
})

test('what passes passes, with how long each file took and its number', (t) => {
  const { status, text } = runFiles(t, 'good')
  assert.equal(status, 0, text)
  assert.match(text, /^✔ good /m)
  assert.match(text, /^1 of 1 ✔ \S*good\.test\.mjs: 1 passed in [\d.]+ s$/m)
  assert.match(text, /^1 files; .* %[\s\S]* s {2}.*good\.test\.mjs$/m)
  assert.match(text, /^1 files: 1 passed, 0 failed, 0 skipped, 0 to do\n$/m)
})

for (const name of ['bad', 'gone', 'broken'] as const)
  test(`a file that is ${name} fails the run by its name, and the others are run`, (t) => {
    const { status, text } = runFiles(t, name, 'good')
    assert.equal(status, 1, text)
    assert.match(text, new RegExp(`^. of 2 ✖ \\S*${name}\\.test\\.mjs: 0 passed, 1 failed`, 'm'))
    assert.match(text, /^. of 2 ✔ \S*good\.test\.mjs: 1 passed/m)
    assert.match(text, new RegExp(`^failed: \\S*${name}\\.test\\.mjs: `, 'm'))
    assert.match(text, /^2 files: 1 passed, 1 failed, 0 skipped, 0 to do\n$/m)
  })

test('what was skipped is listed once, with the one line that installs it, and its files are written', (t) => {
  const { status, text, skipped } = runFiles(t, 'good', 'partial')
  assert.equal(status, 0, text)
  assert.match(skipped, /^\S*\/partial\.test\.mjs\n$/)
  assert.match(text, /^ {2}1 test, to run this: sudo apt install cpio\n {6}\S*partial\.test\.mjs$/m)
  assert.match(text, /^To run most of these: sudo apt install cpio zsh$/m)
  assert.match(text, /^2 files: 2 passed, 0 failed, 2 skipped, 0 to do\n$/m)
})

test('tests that a file takes from a module count as those of the file', (t) => {
  const directory = makeDirectory(t, {
    'module.mjs': [FILES.bad, FILES.partial.replace(/^import.*/, ''), "test('x', () => {})\n"].join(''),
    'whole.test.mjs': "import './module.mjs'\n",
  })
  const { status, text } = runTool(join(directory, 'whole.test.mjs'))
  assert.equal(status, 1, text)
  assert.match(text, /^1 of 1 ✖ \S*whole\.test\.mjs: 2 passed, 1 failed, 2 skipped in /m)
  assert.match(text, /^failed: \S*whole\.test\.mjs: bad: as it should$/m)
})

test('a file that tells of no test is listed as skipped', (t) => {
  const { status, text, skipped } = runFiles(t, 'good', 'silent', 'partial')
  assert.equal(status, 0, text)
  assert.match(skipped, /^\S*\/partial\.test\.mjs\n\S*\/silent\.test\.mjs\n$/)
  assert.match(text, /^. of 3 ✔ \S*silent\.test\.mjs: 0 passed, 1 skipped in /m)
  assert.match(text, /^3 files: 2 passed, 0 failed, 3 skipped, 0 to do\n$/m)
})

test('a test that is still to be met fails nothing, and is counted as that', (t) => {
  const { status, text } = runFiles(t, 'todo')
  assert.equal(status, 0, text)
  assert.match(text, /^1 of 1 ✔ \S*todo\.test\.mjs: 0 passed, 1 to do in /m)
  assert.match(text, /^1 files: 0 passed, 0 failed, 0 skipped, 1 to do\n$/m)
})

test('a group whose time is over or that is killed fails the run, and the next is run', (t) => {
  const directory = makeDirectory(t, { 'test/dies.test.mjs': 'process.kill(process.ppid, "SIGKILL")\n' })
  const dies = join(directory, 'test/dies.test.mjs')
  const device = join(ROOT, 'test/image/write-log.test.ts') // of the group of images
  const { status, text } = runTool(dies, device)
  assert.notEqual(status, 0)
  assert.match(text, /^failed: \S*dies\.test\.mjs: it has not ended$/m)
  assert.match(text, /of 2 . test\/image\/write-log\.test\.ts: /)
})

for (const parameters of [
  ['no-such-file'],
  ['--share', '5/4'],
  ['--share', 'x'],
  ['--nonsense'],
  ['--long', 'tools'],
  ['--inspect'],
])
  test(`refuses ${parameters.join(' ')} in one line`, () => {
    const { status, text } = runTool(...parameters)
    assert.equal(status, 2)
    assert.match(text, /^.+\n$/)
  })

test('the four shares are all long and device tests, each once and of about the same weight', () => {
  const files = testFiles(ROOT)
  assert.deepEqual(pathsOf(files), globSync('test/**/*.test.ts', { cwd: ROOT }).sort())
  const quarters = [1, 2, 3, 4].map((number) => share(files, number, 4))
  for (const { mine, leftOut } of quarters) assert.deepEqual(pathsOf([...mine, ...leftOut]), pathsOf(files))
  for (const kind of ['long', 'device'] as const) {
    const isKind = (file: TestFile) => file.kind === kind
    const all = files.filter(isKind)
    assert.ok(all.length > 8, kind)
    const parts = quarters.map(({ mine }) => mine.filter(isKind))
    assert.deepEqual(pathsOf(parts.flat()), pathsOf(all))
    const weights = parts.map((part) => part.reduce((sum, { seconds }) => sum + seconds, 0))
    const heaviest = Math.max(...all.map(({ seconds }) => seconds))
    assert.ok(Math.max(...weights) - Math.min(...weights) <= heaviest, String(weights))
  }
  const others = files.filter(({ kind }) => kind === 'short' || kind === 'slow')
  for (const { mine } of quarters) for (const file of others) assert.ok(mine.includes(file))
  assert.deepEqual(share(files, 1, 1), { mine: files, leftOut: [] })
})

const pathsOf = (files: readonly TestFile[]) => files.map(({ path }) => path).sort()

test('a share says which files it has left out and what runs them, before the sums', () => {
  const files = ['test/crypto/engine/sha512.test.ts', 'test/crypto/engine/keccak.test.ts']
  const { status, text } = runTool('--long', '--share', '2/2', ...files)
  assert.equal(status, 0, text)
  const said =
    /^Left out, as this was share 2\/2: 1 files\n {2}long {3}(\S+)\nThese commands run them:\n {2}npm test -- --long \S+ \S+ --share 1\/2\n/m
  const [, leftOut] = said.exec(text) ?? []
  assert.ok(leftOut !== undefined && files.includes(leftOut), text)
  const [ran] = files.filter((file) => file !== leftOut)
  assert.match(text, new RegExp(`^1 of 1 ✔ ${ran}: `, 'm'))
  assert.match(text.trimEnd().split('\n').at(-1)!, /^1 files: \d+ passed, 0 failed, 0 skipped, 0 to do$/)
})

test('reads marks, refuses misspelt ones, and files that have a slow form say so', (t) => {
  const marks = {
    'none.test.ts': '/** A file. */\n',
    'long.test.ts': '// @test long 156\n',
    'device.test.ts': '// @test device 240 slow\n',
    'short.test.ts': '// @test short slow\n',
    'slow.test.ts': '// @test slow\n',
    'bad.test.ts': '// @test lnog 3\n',
  }
  const directory = makeDirectory(t, marks)
  const read = (name: string) => {
    const { kind, seconds, hasSlowForm } = readMark(directory, `${name}.test.ts`)
    return [kind, seconds, hasSlowForm]
  }
  assert.deepEqual(read('none'), ['short', 2, false])
  assert.deepEqual(read('long'), ['long', 156, false])
  assert.deepEqual(read('device'), ['device', 240, true])
  assert.deepEqual(read('short'), ['short', 2, true])
  assert.deepEqual(read('slow'), ['slow', 2, true])
  assert.throws(() => read('bad'), /^Error: bad\.test\.ts: "\/\/ @test lnog 3" must be "\/\/ @test KIND/)
  for (const { path, hasSlowForm } of testFiles(ROOT))
    if (readFileSync(join(ROOT, path), 'utf8').match(/process\.env\.COFFER_SLOW/)) assert.ok(hasSlowForm, path)
})

test('lists the names of tests as they are written', () => {
  const source = `test('a', f)\n  it(\`b \${c}\`, f)\ndescribe(\n  "d's", f)\nretest('e')\nt.test('f', g)`
  assert.deepEqual(testNames(source), ['a', `b \${c}`, "d's", 'f'])
})

test('lists the files that it would run, and runs none', () => {
  const lists = ['1/2', '2/2'].map((number) => {
    const { status, stdout } = spawnSync(process.execPath, [PROGRAM, '--list', '--long', '--share', number], {
      encoding: 'utf8',
    })
    assert.equal(status, 0)
    return stdout.trim().split('\n')
  })
  const long = testFiles(ROOT).filter(({ kind }) => kind === 'long')
  assert.deepEqual(lists.flat().sort(), long.map(({ path }) => path).sort())
})
