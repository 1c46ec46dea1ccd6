/** No process but the one for outgoing connections connects to other hosts: by the modules that the sources import. */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

/** Names that open connections, of Node's modules. */
const CONNECTING: Readonly<Record<string, RegExp>> = {
  'node:net': /\b(?:connect|createConnection)\b/,
  'node:tls': /\bconnect\b/,
  'node:http': /\b(?:request|get|Agent)\b/,
  'node:https': /\b(?:request|get|Agent)\b/,
  'node:http2': /\bconnect\b/,
  'node:dns': /./,
  'node:dns/promises': /./,
  'node:dgram': /./,
}

const ALLOWED = new Set([
  'firmware/base/syslog.ts', // RFC 3164 over UDP
  'firmware/cluster/etcd/gateway.ts', // a Unix socket
  'firmware/crypto/tls/context.ts', // to itself, in memory
  'firmware/http/server/parser-buffer.ts', // to itself, over a Unix socket
])

const SKIPPED = /^firmware\/(?:outgoing|client|web|console|chat-page)\//

test('only the process for outgoing connections imports what connects', () => {
  const found: string[] = []
  const files = globSync('firmware/**/*.ts', { cwd: ROOT }).filter((file) => !SKIPPED.test(file))
  assert.ok(files.length > 300)
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8')
    for (const [, isType, names, module] of text.matchAll(/^import (type )?(.*?) from '(node:[a-z0-9/]+)'$/gms))
      if (isType === undefined && CONNECTING[module!]?.test(names!)) found.push(file)
    if (/(?<![.\w])fetch\(|\bnew WebSocket\b/.test(text)) found.push(file)
  }
  assert.deepEqual(
    [...new Set(found)].filter((file) => !ALLOWED.has(file)),
    [],
  )
  for (const file of ALLOWED) assert.ok(found.includes(file), `${file} no longer connects`)
})
