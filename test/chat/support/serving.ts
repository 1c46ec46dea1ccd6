/** A chat of a test, in process, over TLS on a port of its own, for programs that are nobody's here. */

import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createLog } from '../../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { type ListenerOptions, listenTls } from '../../../firmware/http/server/listener.ts'

/** Gives the port, on 127.0.0.1. The certificate is signed by its own key. */
export async function serve(t: TestContext, app: ListenerOptions['app']): Promise<number> {
  const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  const listener = await listenTls({
    app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', () => {}),
    now: Date.now,
  })
  t.after(() => listener.close())
  return listener.port
}
