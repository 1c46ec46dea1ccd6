/** Zulip's terminal client, unmodified from PyPI, in a terminal of tmux: what it shows is read off the screen, and keys are pressed. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { buildForTests } from '../../support/build.ts'
import { needs, needsPython, PYTHON } from '../../support/tools.ts'
import { type Account, ask, keyOf, OWNER } from '../support/process.ts'
import { furnished } from './furnished.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const POLL_MS = 400 // an account may call 200 times a minute
const HAMLET = { email: 'hamlet@example.org', password: 'a password of a prince' }
const { skip } = needs('tmux').skip === false ? needsPython() : needs('tmux')

async function until(isSo: () => Promise<boolean> | boolean, failure: () => string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await isSo())) {
    if (Date.now() > deadline) assert.fail(failure())
    await wait(POLL_MS)
  }
}

/**
 * A terminal of its own server, which no settings of this machine reach. What the client says of errors goes to a file: a thread of
 * it that fails writes its traceback over the screen, which moves up, and is not drawn again.
 */
function terminal(t: TestContext, directory: string, command: string) {
  const place = mkdtempSync(join(tmpdir(), 'coffer-tmux-'))
  const env = {
    PATH: `${directory}:${process.env.PATH}`,
    HOME: directory,
    TMPDIR: directory,
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    REQUESTS_CA_BUNDLE: join(directory, 'ca.pem'), // of the requests that it makes without the Python package
  }
  const tmux = (...parameters: string[]): string =>
    execFileSync('tmux', ['-S', join(place, 'socket'), '-f', '/dev/null', ...parameters], { encoding: 'utf8', env })
  writeFileSync(join(directory, 'errors'), '') // the shell of the terminal may begin later than this test reads it
  tmux('new-session', '-d', '-c', directory, '-x', '150', '-y', '40', `${command} 2> errors; cat`) // what it ends with stays to be read
  const errors = () => readFileSync(join(directory, 'errors'), 'utf8')
  t.after(() => {
    tmux('kill-server')
    rmSync(place, { recursive: true })
  })
  const screen = () => tmux('capture-pane', '-p')
  return {
    press: (...keys: string[]) => void tmux('send-keys', ...keys),
    type: (text: string) => void tmux('send-keys', '-l', text),
    screen,
    errors,
    shows: (text: RegExp): Promise<void> =>
      until(
        () => text.test(screen()),
        () => `the screen does not show ${text}:\n${errors()}${screen()}`,
      ),
  }
}

test('zulip-term shows, hears and sends; edits, reacts, marks read and opens an upload', { skip }, async (t) => {
  const { port, owner, directory, configure } = await furnished(t, await buildForTests())
  const post = async (as: Account, path: string, form: Record<string, string>) => {
    const { status, body } = await ask(port, 'POST', path, { as, form })
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  await post(owner, '/users', { ...HAMLET, full_name: 'Hamlet' })
  const hamlet = await keyOf(port, HAMLET.email, HAMLET.password)
  const principals = JSON.stringify([OWNER, HAMLET.email])
  await post(owner, '/users/me/subscriptions', { subscriptions: '[{"name": "general"}]', principals })
  const inChannel = { type: 'stream', to: 'general', topic: 'greetings' }
  await post(hamlet, '/messages', { ...inChannel, content: 'words for everybody' })
  await post(hamlet, '/messages', { type: 'private', to: JSON.stringify([OWNER]), content: 'words for her alone' })
  const newest = async (as: Account, narrow: object[] = []) => {
    const form = { anchor: 'newest', num_before: '1', num_after: '0', apply_markdown: 'false' }
    const { body } = await ask(port, 'GET', '/messages', { as, form: { ...form, narrow: JSON.stringify(narrow) } })
    return body.messages.at(-1)
  }
  const unread = () => newest(owner, [{ operator: 'is', operand: 'unread' }])

  const config = configure(owner)
  appendFileSync(config, '[zterm]\nautohide=no_autohide\n')
  // Stands for a desktop, which would show the file.
  writeFileSync(join(directory, 'xdg-open'), '#!/bin/sh\ncp "$1" "$HOME/opened"\n', { mode: 0o700 })
  const command = `${join(dirname(PYTHON), 'zulip-term')} -c ${config}`
  assert.equal((await unread()).content, 'words for her alone')
  const { press, type, shows, screen, errors } = terminal(t, directory, command)
  const leaveBox = async (): Promise<void> => {
    press('Escape') // with the next key too early it would be one with Alt
    await until(
      () => !/│# general .*▶/.test(screen()),
      () => `the box is still there:\n${screen()}`,
    )
  }
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
  await until(
    async () => (await newest(hamlet)).content === 'typed by hand',
    () => `it has sent nothing:\n${screen()}`,
  )
  const sent = await newest(hamlet)
  assert.equal(sent.subject, 'from the terminal')
  assert.equal(sent.client, 'ZulipTerminal')

  await leaveBox()
  press('G')
  press('k') // from her own message up to what she has not read
  await until(
    async () => (await unread()) === undefined,
    () => `what she has seen is not read:\n${screen()}`,
  )

  press('G')
  press('e')
  await shows(/│typed by hand/)
  type(' and corrected')
  await shows(/│typed by hand and corrected/)
  press('C-d')
  await until(
    async () => (await newest(hamlet)).content === 'typed by hand and corrected',
    () => `it has edited nothing:\n${screen()}`,
  )
  await shows(/EDITED/)

  await leaveBox()
  press('G')
  press('+')
  await until(
    async () => (await newest(hamlet)).reactions.some((one: Record<string, unknown>) => one.emoji_name === 'thumbs_up'),
    () => `it has not reacted:\n${screen()}`,
  )
  await shows(/:thumbs_up: You/)

  const file = { name: 'notes.txt', content: 'what the file says' }
  const uploaded = await ask(port, 'POST', '/user_uploads', { as: hamlet, file })
  assert.equal(uploaded.status, 200, JSON.stringify(uploaded.body))
  await post(hamlet, '/messages', { ...inChannel, content: `[notes.txt](${uploaded.body.url})` })
  await shows(/notes\.txt/)
  press('G')
  press('i')
  await shows(/Message Links/)
  press('Enter')
  await shows(/Do you want the application to open it/)
  press('Enter')
  const opened = join(directory, 'opened')
  await until(
    () => existsSync(opened) && readFileSync(opened, 'utf8') === file.content,
    () => `it has opened nothing:\n${screen()}`,
  )

  // Two threads of it show who is here, and do not wait for the screen: where the answer comes first, they end. Both write at once.
  const count = (text: string) => errors().split(text).length - 1
  assert.equal(count('Exception in thread'), count('assert hasattr(self, "_update_pipe")'), errors())
})
