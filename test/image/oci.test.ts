// @test device 60
/** The image for containers: made as `make oci` does, read by the tools of others, unpacked and run. */

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { request } from '../support/client.ts'
import { needs } from '../support/tools.ts'
import { makeDirectory } from './images.ts'

const root = resolve(import.meta.dirname, '../..')
const START_MS_MAX = 300_000

interface Config {
  architecture: string
  config: { User: string; Env: string[]; Entrypoint: string[]; Volumes: object; StopSignal: 'SIGTERM' }
}

function build(t: TestContext): { archive: string; layout: string; place: string } {
  const place = makeDirectory(t)
  const parameters = ['oci', '--arch', process.arch, '--output', place]
  execFileSync(process.execPath, [join(root, 'image/host/build.ts'), ...parameters], { stdio: 'pipe' })
  const archive = join(place, readdirSync(place).find((name) => name.endsWith('.oci.tar'))!)
  const layout = join(place, 'layout')
  mkdirSync(layout)
  execFileSync('tar', ['--extract', '--file', archive, '--directory', layout])
  return { archive, layout, place }
}

const isRoot = process.geteuid?.() === 0

test('it is read by others, and runs as the user and with the command that it names', {
  ...needs('skopeo', 'umoci'),
  timeout: START_MS_MAX,
}, async (t) => {
  const { archive, layout, place } = build(t)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const inspect = (...options: string[]) =>
    JSON.parse(
      execFileSync('skopeo', ['inspect', ...options, `oci-archive:${archive}:${version}`], { encoding: 'utf8' }),
    )
  const { config, architecture } = inspect('--config') as Config
  assert.equal(architecture, process.arch === 'arm64' ? 'arm64' : 'amd64')
  assert.deepEqual(config.Volumes, { '/data': {} })

  // umoci compares every hash, and gives a container's file system.
  const bundle = join(place, 'bundle')
  const rootless = isRoot ? [] : ['--rootless']
  execFileSync('umoci', ['unpack', ...rootless, '--image', `${layout}:${version}`, bundle], { stdio: 'pipe' })
  const files = join(bundle, 'rootfs')
  const [user] = config.User.split(':').map(Number)
  if (!isRoot) return t.diagnostic('only root starts it in a file system of its own')
  const data = statSync(join(files, 'data'))
  assert.deepEqual([data.uid, data.mode & 0o7777], [user, 0o700])

  const script = `
    root=$1 user=$2
    shift 2
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && exec chroot --userspec="$user" "$root" "$@"`
  const environment = [...config.Env, 'COFFER_HOST=127.0.0.1', 'COFFER_PORT=0', 'COFFER_CHAT_PORT=0']
  const command = ['/usr/bin/busybox', 'env', '-i', ...environment, ...config.Entrypoint]
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child']
  const container = spawn('unshare', [...namespaces, 'sh', '-c', script, 'sh', files, config.User, ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => container.kill('SIGKILL'))
  let said = ''
  for (const stream of [container.stdout, container.stderr]) stream.on('data', (bytes) => (said += bytes))
  const port = async (): Promise<number> => {
    for (;;) {
      const found = /at https:\/\/127\.0\.0\.1:(\d+): Unprovisioned/.exec(said)
      if (found !== null) return Number(found[1])
      assert.equal(container.exitCode, null, said)
      await wait(50)
    }
  }
  const target = { host: '127.0.0.1', port: await port() }
  const call = (method: string, path: string, json?: unknown) =>
    request(target, method, path, json === undefined ? {} : { json })
  assert.match((await call('GET', '/')).text(), /<title>Coffer/)
  const provision = {
    unlockPassphrase: 'words that unlock it',
    adminPassphrase: 'words of the administrator',
    systemTime: new Date().toISOString(),
  }
  assert.equal((await call('POST', '/api/v1/provision', provision)).status, 204)
  assert.ok(existsSync(join(files, 'data/device.key')))
  assert.equal(statSync(join(files, 'data/store')).uid, user)

  // As `docker stop` does: the first process of the container gets the signal.
  const [first] = readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').trim().split(' ')
  process.kill(Number(first), config.StopSignal)
  const [code] = await once(container, 'exit')
  assert.equal(code, 0, said)
})
