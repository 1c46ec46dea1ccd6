/** `make qemu` without a device: QEMU itself listens on the forwarded ports, whatever the disk holds. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { freePorts } from '../../tools/free-ports.ts'
import { missingPackages } from '../../tools/qemu/arguments.ts'
import { unlessMissing } from '../support/tools.ts'

const { skip } = unlessMissing(missingPackages('x64'))
const CONNECT_MS = 100

test('make qemu forwards the API and the chat', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-qemu-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const image = join(directory, 'empty.img')
  writeFileSync(image, '')
  truncateSync(image, 1024 * 1024)
  const [api, chat] = (await freePorts(2)) as [number, number]
  const line = [join(import.meta.dirname, '../../tools/qemu.ts'), '--port', `${api}`, '--chat-port', `${chat}`]
  const child = spawn(process.execPath, [...line, image, join(directory, 'device')], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close')
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.after(async () => {
    child.stdin.write('\x01x') // QEMU's own way to end
    await ended
  })
  for (const port of [api, chat]) {
    let isOpen = false
    while (!isOpen && child.exitCode === null) {
      isOpen = await canConnect(port)
      if (!isOpen) await wait(CONNECT_MS)
    }
    assert.ok(isOpen, output)
  }
  assert.ok(output.includes(`chat https://127.0.0.1:${chat}`), output)
})

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
