/** Opens a chat over files that may be damaged, again and again. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import type { Log } from '../../../firmware/base/log.ts'
import { type Chat, createChat } from '../../../firmware/chat/process/chat.ts'
import { MEMORY_DIRECTORY } from '../../support/tools.ts'
import { CHAT_KEY } from '../support/chat.ts'

/** Collects log lines in `logged`. Throws as createChat does. */
export function openQuietly(directory: string, chatKey = CHAT_KEY, logged: string[] = []): Chat {
  const write = (level: string) => (source: string, message: string) =>
    void logged.push(`${level} ${source}: ${message}`)
  const log = { error: write('error'), warning: write('warning'), info: write('info'), debug: write('debug') }
  return createChat({ directory, chatKey, log: log as unknown as Log, derive: async () => new Uint8Array(32) })
}

/** Null when it is refused, for nothing but the disk. */
export function openUnlessRefused(directory: string, logged: string[]): Chat | null {
  try {
    return openQuietly(directory, CHAT_KEY, logged)
  } catch (error) {
    assert.ok(error instanceof CofferError && error.code === 'storage', String(error))
    return null
  }
}

/** In memory where there is such a disk that this user may write. */
export function scratchDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(MEMORY_DIRECTORY, 'coffer-chat-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
