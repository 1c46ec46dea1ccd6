/** A program of tools/bench that fills a chat and serves it with its page, in a process of its own, for organizations of many messages. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildForTests } from '../../support/build.ts'

interface BenchChat {
  readonly port: number
  /** Its output up to the address. */
  readonly printed: string
  stop(): Promise<void>
}

/** The program gets a directory, the parameters and the file of the page. */
export async function startBenchChat(program: string, ...parameters: number[]): Promise<BenchChat> {
  const page = join(dirname(await buildForTests()), 'chat-page.bin')
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-chat-'))
  const path = join(import.meta.dirname, '../../../tools/bench', program)
  const child = spawn(process.execPath, [path, directory, ...parameters.map(String), page], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.stdin.end()
    await ended
    rmSync(directory, { recursive: true, force: true })
  }
  let printed = ''
  for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    printed += chunk
    const port = /https:\/\/127\.0\.0\.1:(\d+): chat/.exec(printed)?.[1]
    if (port !== undefined) return { port: Number(port), printed, stop }
  }
  return assert.fail(`${program} ended at its start: ${printed}`)
}
