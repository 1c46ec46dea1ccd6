// What an administrator of a Debian does with the package, see debian-package. Runs there, with a Node that is not the package's.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

const PLACE = '/root/package'
const DATA = '/var/lib/private/coffer'
const API = 'https://127.0.0.1:8443/api/v1'
const WAIT_MS_MAX = 180_000
const UNLOCK = 'words that unlock it'

const ADMIN = 'admin:words of the administrator'
const OPERATOR = 'operator:words of the operator'

function run(program, ...parameters) {
  const { status, stdout, stderr } = spawnSync(program, parameters, { encoding: 'utf8' })
  assert.equal(status, 0, `${program} ${parameters.join(' ')}: ${stdout}${stderr}`)
  return stdout.trim()
}

const state = (unit = 'coffer') => spawnSync('systemctl', ['is-active', unit], { encoding: 'utf8' }).stdout.trim()

async function call(method, path, { as, json, ok = 1 } = {}) {
  const headers = {
    ...(as !== undefined && { authorization: `Basic ${btoa(as)}` }),
    ...(json !== undefined && { 'content-type': 'application/json' }),
  }
  const answer = await fetch(new URL(path.startsWith('//') ? path.slice(1) : `${API}${path}`, API), {
    method,
    headers,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  })
  const text = await answer.text()
  if (ok) assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`)
  return { status: answer.status, text, json: answer.headers.get('content-type') === 'application/json' ? JSON.parse(text) : null }
}

async function until(what, condition) {
  const deadline = performance.now() + WAIT_MS_MAX
  for (;;) {
    if (await condition().catch(() => false)) return
    assert.ok(performance.now() < deadline, `not within ${WAIT_MS_MAX} ms: ${what}`)
    await wait(200)
  }
}

const untilState = (wanted) =>
  until(`it is ${wanted}`, async () => (await call('GET', '/health/state')).json.state === wanted)

/** Unlocks it, and the key signs. */
async function expectKey(publicPem) {
  await untilState('Locked')
  await call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  assert.equal((await call('GET', '/keys/web-key/public.pem', { as: OPERATOR })).text, publicPem)
  const json = { mode: 'EdDSA', message: btoa('a message') }
  assert.ok((await call('POST', '/keys/web-key/sign', { as: OPERATOR, json })).json.signature.length > 80)
}

const version = async () => (await call('GET', '/system/software', { as: ADMIN })).json.version

/** The boot manager and the other processes: one user without privileges, filtered and confined. */
function expectConfined(programs) {
  const found = []
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    if (command[0] !== '/usr/lib/coffer/node') continue
    found.push(command.find((word) => /^\/.*\.js$/.test(word)))
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const field = (name) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)[1]
    assert.ok(Number(field('Uid')) >= 61_184, 'a dynamic user')
    assert.deepEqual(['CapEff', 'CapBnd'].map(field), ['0'.repeat(16), '0'.repeat(16)])
    assert.deepEqual([field('NoNewPrivs'), field('Seccomp')], ['1', '2'])
  }
  assert.deepEqual(found.sort(), programs.map((name) => `/usr/lib/coffer/${name}.js`).sort())
  assert.equal(statSync(DATA).mode & 0o777, 0o700)
}

const isUp = () => /^(running|degraded)$/.test(spawnSync('systemctl', ['is-system-running'], { encoding: 'utf8' }).stdout.trim())

const step = (text) => console.log(`- ${text}`)
const architecture = run('dpkg', '--print-architecture')
const deb = (version) => `${PLACE}/coffer_${version}_${architecture}.deb`

await until('systemd is up', async () => isUp())

step('install')
run('dpkg', '--install', deb('0.1.0'))
assert.equal(run('dpkg', '--verify', 'coffer'), '')
assert.deepEqual([state(), run('systemctl', 'is-enabled', 'coffer')], ['active', 'enabled'])
await untilState('Unprovisioned')
run('systemd-analyze', 'verify', 'coffer.service')

step('use: the API, the page, a key, the chat')
assert.match((await call('GET', '//')).text, /<title>Coffer/)
const [, adminPassphrase] = ADMIN.split(':')
const systemTime = new Date().toISOString()
await call('POST', '/provision', { json: { unlockPassphrase: UNLOCK, adminPassphrase, systemTime } })
const [, passphrase] = OPERATOR.split(':')
await call('PUT', '/users/operator', { as: ADMIN, json: { realName: 'Operator', role: 'Operator', passphrase } })
await call('POST', '/keys/generate', {
  as: ADMIN,
  json: { id: 'web-key', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
})
const publicPem = (await call('GET', '/keys/web-key/public.pem', { as: OPERATOR })).text
const owner = { email: 'owner@example.org', fullName: 'Owner', password: 'words of the owner' }
await call('PUT', '/chat/organization', { as: ADMIN, json: { name: 'Example', owner } })
await until('the chat runs', async () => (await call('GET', '/chat', { as: ADMIN })).json.state === 'running')
expectConfined(['boot', 'firmware', 'chat'])

step('a webhook of the chat: made by its own process, which knows the addresses of this machine')
await call('PUT', '/chat/settings', { as: ADMIN, json: { outgoingHosts: ['localhost:9'] } })
const { port } = (await call('GET', '/chat', { as: ADMIN })).json
const chat = async (method, path, form, as) => {
  const answer = await fetch(`https://127.0.0.1:${port}/api/v1${path}${method === 'GET' ? `?${new URLSearchParams(form)}` : ''}`, {
    method,
    headers: { ...(as !== undefined && { authorization: `Basic ${btoa(as)}` }) },
    ...(method !== 'GET' && { body: new URLSearchParams(form) }),
  })
  return answer.json()
}
const { api_key } = await chat('POST', '/fetch_api_key', { username: owner.email, password: owner.password })
const person = `${owner.email}:${api_key}`
const payload_url = JSON.stringify('http://localhost:9/')
const bot = await chat('POST', '/bots', { full_name: 'Hook', short_name: 'hook', bot_type: '3', payload_url }, person)
await chat('POST', '/messages', { type: 'direct', to: JSON.stringify([bot.user_id]), content: 'hello' }, person)
const newest = { anchor: 'newest', num_before: '5', num_after: '0', narrow: '[["is", "dm"]]', apply_markdown: 'false' }
await until('the owner of the bot is told', async () =>
  /leads to an address that nothing is sent to/.test((await chat('GET', '/messages', newest, person)).messages.at(-1).content),
)
expectConfined(['boot', 'firmware', 'chat', 'outgoing'])

step('restart')
run('systemctl', 'restart', 'coffer')
await expectKey(publicPem)
await until('the chat runs', async () => (await call('GET', '/chat', { as: ADMIN })).json.state === 'running')

step('upgrade, with data and a changed setting')
appendFileSync('/etc/default/coffer', 'COFFER_CONSOLE=off\n')
run('dpkg', '--install', deb('0.1.1'))
assert.equal(state(), 'active')
await expectKey(publicPem)
assert.match(run('dpkg-query', '--show', 'coffer'), /0\.1\.1$/)
assert.equal((await call('GET', '//', { ok: 0 })).status, 404)
assert.equal(await version(), '0.1.1')
expectConfined(['boot', 'firmware', 'chat'])

step('the command is there, with its manual page and completions')
assert.equal(run('coffer', '--version'), 'coffer 0.1.1')
for (const path of ['man/man1/coffer.1.gz', 'bash-completion/completions/coffer', 'zsh/vendor-completions/_coffer', 'fish/vendor_completions.d/coffer.fish'])
  assert.ok(existsSync(`/usr/share/${path}`), path)

step('shut down by the API: it stays down, until it is started')
await call('POST', '/system/shutdown', { as: ADMIN })
await until('it is down', async () => state() === 'inactive')
run('systemctl', 'start', 'coffer')
await expectKey(publicPem)

step('killed: it comes back')
run('systemctl', 'kill', '--kill-whom=main', '--signal=KILL', 'coffer')
await expectKey(publicPem)

step('a misspelt setting is named')
appendFileSync('/etc/default/coffer', 'COFFER_PROT=1\n')
spawnSync('systemctl', ['restart', 'coffer'])
await until('the log names it', async () =>
  /COFFER_PROT is not a setting/.test(run('journalctl', '--no-pager', '--unit', 'coffer')),
)
run('sed', '-i', '/COFFER_PROT/d', '/etc/default/coffer')
run('systemctl', 'reset-failed', 'coffer')
run('systemctl', 'restart', 'coffer')
await expectKey(publicPem)

step('remove: the program goes, settings and data stay')
run('dpkg', '--remove', 'coffer')
assert.equal(state(), 'inactive')
assert.ok(!existsSync('/usr/lib/coffer'))
assert.ok(existsSync('/etc/default/coffer') && existsSync(`${DATA}/device.key`) && existsSync(`${DATA}/store`))

step('install again: the data are there')
run('dpkg', '--install', deb('0.1.1'))
await expectKey(publicPem)

step('purge: nothing is left')
const left = () => run('find', '/etc', '/usr', '/var/lib', '/var/cache', '/run', '-name', '*coffer*').split('\n').filter(Boolean)
for (const path of [DATA, '/etc/default/coffer', '/usr/lib/coffer']) assert.ok(left().includes(path), path)
run('dpkg', '--purge', 'coffer')
assert.equal(state(), 'inactive')
assert.deepEqual(left(), [])
assert.equal(spawnSync('dpkg-query', ['--show', 'coffer']).status, 1)
