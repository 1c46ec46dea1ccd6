/** A chat whose clients call with keys that this program knows by their hashes alone: for a look at its memory from outside. */

import { openTestChat } from '../support/chat.ts'

/** `hashes`: of keys that an account gets. `credentials`: base64 of address and key, which a client calls with. */
export type Order = { hashes: readonly string[] } | { credentials: readonly string[]; isCareless: boolean } | 'end'

/** Read as text, without wiping: kept so that the garbage collection does not decide what the search finds. */
const kept: string[] = []
function readCarelessly(credentials: string): void {
  const text = Buffer.from(credentials, 'base64').toString()
  kept.push(text.slice(text.lastIndexOf(':') + 1))
}

if (process.send !== undefined) {
  const rig = await openTestChat()
  const { realm, api } = rig.chat
  const { user } = rig.account('reader')

  const give = (hashes: readonly string[]): void =>
    realm.transaction((tx) => {
      for (const hash of hashes)
        tx.put('apiKey', {
          hash,
          id: tx.nextId('apiKey'),
          userId: user.id,
          client: 'test',
          made: 0,
          usedDay: 0,
          sealed: null,
        })
    })

  const call = async (credentials: string): Promise<number> => {
    const headers = { host: 'chat.example', authorization: `Basic ${credentials}` }
    const { status } = await api.request('http://chat.example/api/v1/users/me', { headers })
    return status
  }

  process.on('message', async (order: Order) => {
    const statuses: number[] = []
    if (order === 'end') {
      rig.close()
      process.disconnect?.()
      return
    }
    if ('hashes' in order) give(order.hashes)
    else
      for (const credentials of order.credentials) {
        if (order.isCareless) readCarelessly(credentials)
        else statuses.push(await call(credentials))
      }
    process.send?.(statuses)
  })
  process.send(user.email)
}
