/**
 * The page for browsers (firmware/console) and the command `coffer` (tools/coffer), as the bundle has them: tools/build.ts puts
 * the files in the place of this module. Who runs the sources has none, and `/` is 404.
 */

import type { ConsoleFiles } from './kms/documents/console-endpoints.ts'

export const consoleFiles: ConsoleFiles | null = null
