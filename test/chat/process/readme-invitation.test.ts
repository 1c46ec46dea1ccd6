/** The commands of the chat's page for inviting somebody, from the link to the first message, run as they stand there. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createRig } from '../../coffer/rig.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { fileNeeds } from '../../support/tools.ts'
import { statusOf } from '../support/process.ts'

await fileNeeds('curl', 'openssl')

const README = readFileSync(join(import.meta.dirname, '../../../firmware/chat/README.md'), 'utf8')
const TIME_MS_MAX = 180_000
const ASKPASS = `#!/bin/sh
case "$1" in *olivia*) echo a password of hers ;; *) echo staple of an administrator ;; esac
`

const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(README)![1]!

test('an invitation, from the link to the first message of the new member, as the page has it', async (t) => {
  const program = await buildForTests()
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  const { port } = await coffer.target()
  const directory = makeDataDirectory(t)
  const run = (script: string, environment = {}): string => {
    const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', `exec 2>&1\n${script}`], {
      env: { ...process.env, ...environment },
      cwd: directory,
      encoding: 'utf8',
      timeout: TIME_MS_MAX,
    })
    assert.equal(status, 0, stdout + stderr)
    return stdout
  }
  // The system chooses the chat's port when the organization is made.
  const [making, using] = block('sh')
    .replaceAll('127.0.0.1:8443', `127.0.0.1:${port}`)
    .split(/^chat=.*\n/m)
  run(making!)
  const { port: chatPort } = await statusOf(coffer, 'admin:staple of an administrator')
  const tools = making!.slice(making!.indexOf('call() {'), making!.indexOf('\n\n'))
  const inviting = block('bash').replaceAll('127.0.0.1:9443', `127.0.0.1:${chatPort}`)
  const rig = await createRig()
  t.after(async () => {
    await rig.coffer('logout', '--all')
    rig.dispose()
  })
  writeFileSync(join(rig.directory, 'askpass'), ASKPASS)
  rig.environment.XDG_RUNTIME_DIR = makeDataDirectory(t)
  await rig.connect({ host: '127.0.0.1', port })
  const commands = block('shell').replaceAll('127.0.0.1:9443', `127.0.0.1:${chatPort}`)
  const parts = [tools, `chat=https://127.0.0.1:${chatPort}/api/v1`, using, 'echo BEGIN', inviting, commands]
  const printed = run(parts.join('\n'), rig.environment)

  const expected = [...(inviting + commands).matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.equal(expected.length, 8)
  let from = printed.indexOf('BEGIN')
  for (const text of expected) {
    const at = printed.indexOf(text, from)
    assert.ok(at !== -1, `${text} is not in ${printed.slice(from)}`)
    from = at + text.length
  }
})
