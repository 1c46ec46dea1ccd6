/** SQLite's own door to native code, which Node's permission model does not watch. */

import Sqlite from 'better-sqlite3-multiple-ciphers'

/** Loads the addon; from now on SQLite loads nothing else. */
export function forgetExtensions(): void {
  const database = new Sqlite(':memory:') as unknown as { close(): void } & Record<symbol, unknown>
  const natives = Object.getOwnPropertySymbols(database).map((symbol) => database[symbol])
  for (const object of [database, ...natives])
    if (typeof object === 'object') delete Object.getPrototypeOf(object).loadExtension
  database.close()
}
