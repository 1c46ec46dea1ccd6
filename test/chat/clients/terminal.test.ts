/** Zulip's terminal client, unmodified from PyPI, in a terminal of tmux: what it shows is read off the screen, and keys are pressed. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { provision } from '../../support/appliance.ts'
import { buildForTests, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { needs, needsPython, PYTHON } from '../../support/tools.ts'
import { type Account, ask, keyOf, makeOrganization, OWNER, statusOf } from '../support/process.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const HAMLET = { email: 'hamlet@example.org', password: 'a password of a prince' }
const { skip } = needs('tmux').skip === false ? needsPython() : needs('tmux')

/** A terminal of its own server, which no settings of this machine reach. */
function terminal(t: TestContext, directory: string, command: string) {
  const place = mkdtempSync(join(tmpdir(), 'coffer-tmux-'))
  const env = { PATH: process.env.PATH ?? '', HOME: directory, TERM: 'xterm-256color', LANG: 'C.UTF-8' }
  const tmux = (...parameters: string[]): string =>
    execFileSync('tmux', ['-S', join(place, 'socket'), '-f', '/dev/null', ...parameters], { encoding: 'utf8', env })
  tmux('new-session', '-d', '-c', directory, '-x', '150', '-y', '40', `${command}; cat`) // what it ends with stays to be read
  t.after(() => {
    tmux('kill-server')
    rmSync(place, { recursive: true })
  })
  const screen = () => tmux('capture-pane', '-p')
  return {
    press: (...keys: string[]) => void tmux('send-keys', ...keys),
    type: (text: string) => void tmux('send-keys', '-l', text),
    /** Waits for it. */
    async shows(text: RegExp): Promise<void> {
      const deadline = Date.now() + DEADLINE_MS
      while (!text.test(screen())) {
        assert.ok(Date.now() < deadline, `the screen does not show ${text}:\n${screen()}`)
        await wait(100)
      }
    },
  }
}

test('zulip-term shows a channel and a direct message, receives what another account sends, and sends', {
  skip,
}, async (t) => {
  const program = await buildForTests()
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  await provision(coffer)
  await makeOrganization(coffer)
  const port = (await statusOf(coffer)).port!
  const post = async (as: Account, path: string, form: Record<string, string>): Promise<void> => {
    const { status, body } = await ask(port, 'POST', path, { as, form })
    assert.equal(status, 200, JSON.stringify(body))
  }
  const owner = await keyOf(port)
  await post(owner, '/users', { ...HAMLET, full_name: 'Hamlet' })
  const hamlet = await keyOf(port, HAMLET.email, HAMLET.password)
  const principals = JSON.stringify([OWNER, HAMLET.email])
  await post(owner, '/users/me/subscriptions', { subscriptions: '[{"name": "general"}]', principals })
  const inChannel = { type: 'stream', to: 'general', topic: 'greetings' }
  await post(hamlet, '/messages', { ...inChannel, content: 'words for everybody' })
  await post(hamlet, '/messages', { type: 'private', to: JSON.stringify([OWNER]), content: 'words for her alone' })

  const directory = makeDataDirectory(t)
  const config = join(directory, 'zuliprc')
  const lines = [`email=${OWNER}`, `key=${owner.key}`, `site=https://127.0.0.1:${port}`, 'insecure=true']
  writeFileSync(config, `[api]\n${lines.join('\n')}\n[zterm]\nautohide=no_autohide\n`, { mode: 0o600 })
  const { press, type, shows } = terminal(t, directory, `${join(dirname(PYTHON), 'zulip-term')} -c ${config}`)
  await shows(/words for everybody/)
  await shows(/You and Hamlet/)
  await shows(/words for her alone/)

  await post(hamlet, '/messages', { ...inChannel, content: 'said while she watched' })
  await shows(/said while she watched/)

  press('c')
  await shows(/▶/)
  type('general')
  press('Tab')
  await shows(/# general .*▶/)
  type('from the terminal')
  await shows(/▶ from the terminal/)
  press('Tab')
  type('typed by hand')
  await shows(/│typed by hand/)
  press('C-d')
  const newest = async () => {
    const form = { anchor: 'newest', num_before: '1', num_after: '0', apply_markdown: 'false' }
    return (await ask(port, 'GET', '/messages', { as: hamlet, form })).body.messages.at(-1)
  }
  const deadline = Date.now() + DEADLINE_MS
  while ((await newest()).content !== 'typed by hand') {
    assert.ok(Date.now() < deadline, 'it has sent nothing')
    await wait(100)
  }
  assert.equal((await newest()).subject, 'from the terminal')
  assert.equal((await newest()).client, 'ZulipTerminal')
})
