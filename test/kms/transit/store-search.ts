/** Looks for a text in the files of a store. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Names of the files that hold the text. */
export const searchStore = (directory: string, text: string): string[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(join(directory, entry.name)).includes(text))
    .map(({ name }) => name)
