/** The chat of a benchmark, and its page, over TLS as the chat's process has them. */

import { type Clock, createClock } from '../../firmware/base/clock.ts'
import { createLog, type Log } from '../../firmware/base/log.ts'
import { type Chat, createChat } from '../../firmware/chat/process/chat.ts'
import { openPageFiles } from '../../firmware/chat/process/page-files.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { exchangeOf } from '../../firmware/http/server/exchange.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

export const OWNER = { email: 'owner@example.org', fullName: 'Owner' }
export const OWNER_PASSWORD = 'password of the benchmark'

const CONNECTIONS_MAX = 10_000
const CHEAP = { N: 2, r: 1, p: 1 } // of the one password that is made here
const UNLIMITED = { calls: 1e9, withinMs: 60_000 }

export interface BenchChat {
  chat: Chat
  clock: Clock
  log: Log
}

/** With the usual limits of calls if it is `limited`. */
export function openChat(directory: string, { limited = false } = {}): BenchChat {
  const log = createLog('error', ({ message }) => console.error(message))
  const clock = createClock()
  const chat = createChat({
    directory,
    chatKey: new Uint8Array(32).fill(1),
    log,
    clock,
    derive: async (password, salt, cost) => deriveKey(password, salt, cost),
    passwordCost: CHEAP,
    ...(!limited && { rateLimits: { account: UNLIMITED, address: UNLIMITED, media: UNLIMITED } }),
  })
  return { chat, clock, log }
}

/** Prints the address. Ends the program with its standard input. `page` is `chat-page.bin` of a build. */
export async function serveChat({ chat, clock, log }: BenchChat, page: URL | null): Promise<void> {
  const files = openPageFiles({ file: page, realmName: () => null, timeS: () => clock.now() / 1000, log })
  const identity = await makeTlsIdentity(systemRandom)
  const { port } = await listenTls({
    app: {
      fetch: (request, env) =>
        files?.answer(exchangeOf({ env, req: { raw: request } })) ?? chat.api.fetch(request, env),
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log,
    now: clock.now,
    limits: { connectionsMax: CONNECTIONS_MAX },
  })
  console.log(`https://127.0.0.1:${port}: chat`)
  process.stdin.resume().once('end', () => {
    chat.close()
    process.exit(0)
  })
}
