// @test long 75 slow
/**
 * Bridges of Zulip's Python package, unmodified from PyPI: between two organizations, and to IRC. Nothing is lost and nothing comes
 * twice, also where a chat restarts. For 15 seconds each, or COFFER_BRIDGE_MINUTES; with COFFER_SLOW for an hour.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { needs, needsPython, PYTHON } from '../../support/tools.ts'
import { type Account, ask, askUntil, reach, statusOf } from '../support/process.ts'
import { furnished, makeBot, type Scene } from './furnished.ts'
import { repeatUntil, start } from './python.ts'

const isSlow = process.env.COFFER_SLOW !== undefined
const MINUTES = Number(process.env.COFFER_BRIDGE_MINUTES ?? (isSlow ? 60 : 0.25))
const PAUSE_MS = MINUTES > 1 ? 2000 : 750 // an account has 200 calls in a minute, and a bridge makes two for each message
const MESSAGES = Math.round((MINUTES * 60_000) / PAUSE_MS) // each way
const RESTART_AFTER = Math.min(Math.ceil(MESSAGES / 2), 150) // messages, one chat and then the other
const OWNER_NAME = 'Olivia Owner'
const CHANNEL = 'bridges'

const INTEGRATIONS = join(dirname(PYTHON), '../share/zulip/integrations')
const IRC_PORT = 6667 // the bridge takes no other: it hands on as a text what `--port` says
const IRC_CHANNEL = '#bridges'

let program: string
before(async () => {
  if (needsPython().skip === false) program = await buildForTests()
})

interface Side {
  scene: Scene
  bot: Account
  topic: string
}

test('what is said in one organization is said in the other, both ways and once', needsPython(), async (t) => {
  const sides = [await makeSide(t, 'to the right'), await makeSide(t, 'to the left')] as const
  const [left, right] = sides
  const directory = left.scene.directory
  const authorities = join(directory, 'both.pem')
  writeFileSync(authorities, sides.map(({ scene }) => readFileSync(join(scene.directory, 'ca.pem'))).join('\n'))
  copyFileSync(join(INTEGRATIONS, 'bridge_between_zulips/run-interrealm-bridge'), join(directory, 'bridge.py'))
  writeFileSync(join(directory, 'interrealm_bridge_config.py'), configurationOf(sides))
  const bridge = start(t, directory, PYTHON, ['bridge.py'], { ZULIP_CERT_BUNDLE: authorities })
  for (const side of sides) await queueOf(side)

  const said: [string[], string[]] = [[], []]
  const say = async (index: 0 | 1) => {
    const text = `${said[index].length + 1} naïve 漢字 🎉 **bold** \`code\``
    said[index].push(text)
    await sayIn(sides[index], text)
  }
  for (let number = 1; number <= MESSAGES; number++) {
    await say(0)
    await say(1)
    if (number % RESTART_AFTER === 0) {
      const restarted = (number / RESTART_AFTER) % 2 === 1 ? 1 : 0
      await restart(sides[restarted], () => say(restarted === 1 ? 0 : 1))
    }
    await wait(PAUSE_MS)
  }
  await arrived(right, bridge.printed, said[0].map(byOwner))
  await arrived(left, bridge.printed, said[1].map(byOwner))
  t.diagnostic(`${said[0].length} and ${said[1].length} messages, ${Math.floor(MESSAGES / RESTART_AFTER)} restarts`)
})

test('what is said in a channel of IRC is said in the chat, both ways and once', needsIrc(), async (t) => {
  const side = await makeSide(t, 'IRC')
  const { scene, bot } = side
  const host = ['127', randomInt(1, 255), randomInt(1, 255), randomInt(2, 255)].join('.')
  await startIrcServer(t, scene.directory, host)
  const peer = await joinIrc(t, host)
  const parameters = ['--irc-server', host, '--channel', IRC_CHANNEL, '--nick-prefix', 'bridge', '--stream', CHANNEL]
  const mirror = join(INTEGRATIONS, 'bridge_with_irc/irc-mirror.py')
  const bridge = start(t, scene.directory, PYTHON, [mirror, '--config-file', scene.configure(bot), ...parameters])
  await peer.see(/^:bridge_zulip!\S+ JOIN/)
  await queueOf(side)

  const said: string[] = []
  const sayInChat = async () => {
    said.push(`${said.length + 1} naïve 漢字 🎉`)
    await sayIn(side, said.at(-1)!)
  }
  const saidInIrc: string[] = []
  const sayInIrc = async () => {
    saidInIrc.push(`${saidInIrc.length + 1} naïve 漢字 🎉`)
    peer.say(saidInIrc.at(-1)!)
  }
  for (let number = 1; number <= MESSAGES; number++) {
    await sayInChat()
    await sayInIrc()
    if (number % RESTART_AFTER === 0) await restart(side, sayInIrc)
    await wait(PAUSE_MS)
  }
  const fromPeer = (text: string) => `**peer@${host}**: ${text}`
  await arrived(side, bridge.printed, saidInIrc.map(fromPeer))
  const expected = said.map((text) => `@**${OWNER_NAME}**: ${text}`)
  await repeatUntil(
    async () => peer.heard().length >= expected.length,
    async () => {},
    () => `${peer.heard().length} of ${expected.length} in IRC: ${bridge.printed()}`,
  )
  assert.deepEqual(peer.heard(), expected)
  t.diagnostic(`${said.length} and ${saidInIrc.length} messages, ${Math.floor(MESSAGES / RESTART_AFTER)} restarts`)
})

function needsIrc(): { skip: string | false } {
  const { skip } = needsPython()
  return skip === false ? needs('ngircd') : { skip }
}

async function makeSide(t: TestContext, topic: string): Promise<Side> {
  const scene = await furnished(t, program)
  const bot = await makeBot(scene.port, scene.owner)
  const form = { subscriptions: JSON.stringify([{ name: CHANNEL }]), principals: JSON.stringify([bot.email]) }
  for (const subscribed of [{ subscriptions: form.subscriptions }, form])
    assert.equal(
      (await ask(scene.port, 'POST', '/users/me/subscriptions', { as: scene.owner, form: subscribed })).status,
      200,
    )
  return { scene, bot, topic }
}

const configurationOf = (sides: readonly Side[]): string => {
  const bots = sides.map(({ scene, bot, topic }, index) => {
    const { email, key } = bot
    const settings = { email, api_key: key, site: `https://127.0.0.1:${scene.port}`, stream: CHANNEL, subject: topic }
    return `"bot_${index + 1}": ${JSON.stringify(settings)}`
  })
  return `config = {${bots.join(', ')}}\n`
}

async function queueOf({ scene }: Side): Promise<void> {
  const status = () => statusOf(scene.coffer)
  await repeatUntil(
    async () => ((await status()).queues ?? 0) > 0,
    async () => {},
    () => 'the bridge does not listen',
  )
}

async function sayIn({ scene, topic }: Side, content: string): Promise<void> {
  const form = { type: 'stream', to: CHANNEL, topic, content }
  const { status, body } = await ask(scene.port, 'POST', '/messages', { as: scene.owner, form })
  assert.equal(status, 200, JSON.stringify(body))
}

/** Locks that Coffer, which ends its chat, and unlocks it; what is said elsewhere meanwhile is for a chat that is not there. */
async function restart({ scene }: Side, sayElsewhere: () => Promise<void>): Promise<void> {
  const { coffer, port } = scene
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await askUntil(({ status }) => status === 500, port, 'GET', '/server_settings')
  for (let said = 0; said < 3; said++) await sayElsewhere()
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
}

const byOwner = (text: string): string => `**${OWNER_NAME}**: ${text}`

/** Waits until as many messages of the bot are there, which must be these. */
async function arrived(side: Side, printed: () => string, expected: readonly string[]): Promise<void> {
  const { scene, bot } = side
  let there: string[] = []
  await repeatUntil(
    async () => {
      const narrow = JSON.stringify([
        { operator: 'channel', operand: CHANNEL },
        { operator: 'sender', operand: bot.email },
      ])
      const form = { anchor: 'newest', num_before: '5000', num_after: '0', narrow, apply_markdown: 'false' }
      const { body } = await ask(scene.port, 'GET', '/messages', { as: scene.owner, form })
      there = body.messages.map(({ content }: { content: string }) => content)
      return there.length >= expected.length
    },
    async () => {},
    () => `${there.length} of ${expected.length} are there: ${printed().slice(-3000)}`,
  )
  assert.deepEqual(there, expected)
}

/** At an address of its own, since its port is fixed. */
async function startIrcServer(t: TestContext, directory: string, host: string): Promise<void> {
  const path = join(directory, 'ngircd.conf')
  const settings = [
    '[Global]',
    'Name = irc.example.org',
    'Info = a test',
    `Listen = ${host}`,
    `Ports = ${IRC_PORT}`,
    'MotdPhrase = Hello',
  ]
  const options = [
    'ServerUID = nobody',
    'ServerGID = nogroup',
    '[Limits]',
    'MaxNickLength = 20',
    '[Options]',
    'DNS = no',
    'Ident = no',
    'PAM = no',
  ]
  writeFileSync(path, `${[...settings, ...options].join('\n')}\n`)
  const server = spawn('/usr/sbin/ngircd', ['--nodaemon', '--config', path], { stdio: 'pipe' })
  t.after(() => server.kill())
  let printed = ''
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding('utf8').on('data', (text) => (printed += text))
  await repeatUntil(
    async () => {
      assert.equal(server.exitCode, null, printed)
      return isOpen(host)
    },
    async () => {},
    () => printed,
  )
}

function isOpen(host: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(IRC_PORT, host, () => resolve(true))
  socket.on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

async function joinIrc(t: TestContext, host: string) {
  const socket = connect(IRC_PORT, host).setEncoding('utf8')
  t.after(() => socket.destroy())
  const lines: string[] = []
  let rest = ''
  const send = (line: string) => socket.write(`${line}\r\n`)
  socket.on('data', (text) => {
    const parts = `${rest}${text}`.split('\r\n')
    rest = parts.pop()!
    for (const line of parts) {
      lines.push(line)
      if (line.startsWith('PING ')) send(line.replace('PING', 'PONG'))
    }
  })
  const see = (pattern: RegExp) =>
    repeatUntil(
      async () => lines.some((line) => pattern.test(line)),
      async () => {},
      () => `${pattern} is not in\n${lines.join('\n')}`,
    )
  send('NICK peer')
  send('USER peer 0 * :A peer')
  await see(/^\S+ 001 /)
  send(`JOIN ${IRC_CHANNEL}`)
  await see(/^\S+ 366 /)
  const PREFIX = new RegExp(`^:bridge_zulip!\\S+ PRIVMSG ${IRC_CHANNEL} :`)
  return {
    see,
    say: (text: string) => void send(`PRIVMSG ${IRC_CHANNEL} :${text}`),
    heard: () => lines.filter((line) => PREFIX.test(line)).map((line) => line.replace(PREFIX, '')),
  }
}
