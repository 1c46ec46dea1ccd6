// @test device 120
/** The sources determine the image: built twice, with nothing else in common, it is the same to the bit. */

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { hasGo } from '../../image/etcd-program.ts'
import { onMachines } from '../support/machine.ts'
import { releaseKey } from './images.ts'

const ROOT = join(import.meta.dirname, '../..')
const SOURCES = ['boot', 'firmware', 'image', 'tools', 'package.json', 'package-lock.json', 'tsconfig.json']
const UNUSED = /^(@biomejs|@typescript|typescript|node-linux-.*|webapi-parser|\.cache)$/ // large, and no part of a build
const STRANGER_ID = 12345 // has no name on this machine, and nothing of its own

function copySources(directory: string): string {
  for (const name of SOURCES) cpSync(join(ROOT, name), join(directory, name), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (!UNUSED.test(name))
      cpSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name), { recursive: true })
  return directory
}

interface Builder {
  /** An update image to make again, without the key that it was signed with. */
  published?: string
  umask: string
  timeZone: string
  user?: number
  /** Uses Go's caches, as a repeated build does; otherwise all of etcd is fetched and compiled. */
  usesGoCaches: boolean
}

async function build(
  directory: string,
  { umask, timeZone, user, published, usesGoCaches }: Builder,
): Promise<Record<string, string>> {
  const home = join(directory, 'home')
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  mkdirSync(home)
  const output = join(directory, 'dist/image')
  const { path, publicPath } = releaseKey()
  const keys = [path, publicPath].map((key, index) => {
    const copy = join(home, `key-${index}`)
    cpSync(key, copy)
    return copy
  })
  if (user !== undefined) execFileSync('chown', ['--recursive', '--no-dereference', `${user}:${user}`, directory])
  const how = published === undefined ? ['--release-signing-key', keys[0]!] : ['--release', published]
  const command = ['image/build.ts', ...how, '--release-key', keys[1]!, '--output', output]
  const child = spawn('sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, ...command], {
    cwd: directory,
    // Of what was set up for us it keeps how packages are reached.
    env: {
      ...process.env,
      HOME: home,
      TMPDIR: home,
      TZ: timeZone,
      npm_config_registry: registry,
      npm_config_cache: home,
      ...(usesGoCaches ? goCaches() : { GOPATH: join(home, 'go'), GOMODCACHE: '', GOCACHE: '' }),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(user === undefined ? {} : { uid: user, gid: user }),
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  assert.equal(code, 0)
  const hashes = readdirSync(output).map((name) => {
    const bytes = readFileSync(join(output, name))
    return [name, createHash('sha256').update(bytes).digest('hex')]
  })
  return Object.fromEntries(hashes) as Record<string, string>
}

function goCaches(): Record<string, string> {
  if (!hasGo()) return {}
  const [GOMODCACHE, GOCACHE] = execFileSync('go', ['env', 'GOMODCACHE', 'GOCACHE'], { encoding: 'utf8' }).split('\n')
  return { GOMODCACHE: GOMODCACHE!, GOCACHE: GOCACHE! }
}

test(
  'two clones in different places, built by different users, one without the release key, give the same bits',
  onMachines(),
  async (t) => {
    const places = mkdtempSync(join(tmpdir(), 'coffer-clones-'))
    t.after(() => {
      execFileSync('chmod', ['--recursive', 'u+w', places]) // Go takes that away from what it has fetched
      rmSync(places, { recursive: true, force: true })
    })
    chmodSync(places, 0o755)

    // Copied first: sources may change while an image is built.
    const one = copySources(join(places, 'one'))
    const another = join(places, 'another folder/with a longer path')
    cpSync(one, another, { recursive: true })

    const first = await build(one, { umask: '022', timeZone: 'UTC', usesGoCaches: true })
    const published = join(places, 'published.update')
    cpSync(join(one, 'dist/image', Object.keys(first).find((name) => name.endsWith('.update'))!), published)
    chmodSync(published, 0o644)
    rmSync(one, { recursive: true })
    const stranger = process.getuid?.() === 0 ? { user: STRANGER_ID } : {}
    const second = await build(another, {
      ...{ umask: '077', timeZone: 'Pacific/Kiritimati', published, usesGoCaches: false },
      ...stranger,
    })

    assert.ok(Object.keys(first).length >= 7, Object.keys(first).join(' '))
    assert.deepEqual(second, first)
  },
)
