/** Two ends of a connection in one process, for what usually passes between two. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** Both ends of a connection: bytes that were sent are another's, as on a pipe between processes. */
export async function connected(t: TestContext): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const far = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [near] = (await once(server, 'connection')) as [Socket]
  server.close()
  t.after(() => [near, far].map((socket) => socket.destroy()))
  return [near, far]
}
