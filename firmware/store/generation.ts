/**
 * The generation of the records: another one once they were replaced by others, as by a restore, after which the numbers of
 * changes may come again. Etags of two generations differ, and tokens of the transit API end with theirs. It is no secret.
 */

import type { Database } from 'better-sqlite3'
import { systemRandom } from '../crypto/random.ts'

const BYTES = 12

/** Call within a transaction. */
export const drawGeneration = (database: Database): void => put(database, systemRandom(BYTES))

/** Takes the generation, in hex, of the node whose records are copied. Call within a transaction. */
export const adoptGeneration = (database: Database, generation: string): void =>
  put(database, Buffer.from(generation, 'hex'))

function put(database: Database, value: Uint8Array): void {
  database.exec('DELETE FROM generation')
  database.prepare('INSERT INTO generation (value) VALUES (?)').run(value)
}

/** In hex. */
export const readGeneration = (database: Database): string =>
  database.prepare('SELECT hex(value) FROM generation').pluck().get() as string
