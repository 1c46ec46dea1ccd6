/** The package's own types lie where its `exports` do not lead: it is better-sqlite3 with `key`. */
declare module 'better-sqlite3-multiple-ciphers' {
  import type { Database, Options } from 'better-sqlite3'

  interface SealedDatabase extends Database {
    key(key: Uint8Array): number
  }

  const Sqlite: new (path: string, options?: Options) => SealedDatabase
  export default Sqlite
}
