// @test device 60
/** The README's first start of a device: the commands as they stand there, against the image in QEMU. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { expect } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage } from './images.ts'

const README = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')

test('from the first start to a signature in five commands', onMachines(), async (t) => {
  const block = /five commands[\s\S]*?^```bash\n([\s\S]*?)^```$/m.exec(README)?.[1] ?? ''
  const [start, ...commands] = block.trim().split('\n')
  assert.equal(start, 'make qemu FRESH=1')
  assert.equal(commands.length, 4)

  const appliance = await boot(t, await buildImage(), { firmware: 'ovmf' })
  await appliance.answers()
  let printed = ''
  for (const command of commands) {
    assert.match(command, /^curl .*https:\/\/127\.0\.0\.1:8443\//)
    const here = command.replace('127.0.0.1:8443', `127.0.0.1:${appliance.apiPort}`)
    const { stdout } = await promisify(execFile)('bash', ['-c', here])
    printed = stdout
  }
  const { signature } = JSON.parse(printed) as { signature: string }
  const as = /--user '(admin:.*?)'/.exec(block)![1]
  const pem = (await expect(200, appliance.call('GET', '/keys/web-key/public.pem', { as }))).text()
  assert.ok(verify('sha256', Buffer.from('an important document\n'), pem, Buffer.from(signature, 'base64')))
})
