/** Disables SQLite extensions: native code that Node's permission model does not control. */

import Sqlite from 'better-sqlite3-multiple-ciphers'

/** Loads the addon and then disables all further loading of native code through SQLite. */
export function forgetExtensions(): void {
  const database = new Sqlite(':memory:') as unknown as { close(): void } & Record<symbol, unknown>
  const natives = Object.getOwnPropertySymbols(database).map((symbol) => database[symbol])
  for (const object of [database, ...natives])
    if (typeof object === 'object') delete Object.getPrototypeOf(object).loadExtension
  database.close()
}
