/** Small programs in the firmware's place: `process.send` and `process.on('message')` are the channel to the boot manager. */

import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const CHANNEL = dirname(fileURLToPath(new URL('../../firmware/channel/connect.ts', import.meta.url)))

const PRELUDE = `
  import { connect } from './connect.ts'
  const channel = connect()
  process.send = (message) => channel.send(message)
  channel.on('message', (message) => process.emit('message', message))
  channel.on('end', () => process.exit(0))
`

/** In one file, since it may read nothing else. */
export function smallFirmware(source: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents: PRELUDE + source, resolveDir: CHANNEL, loader: 'js' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  })
  return outputFiles[0]!.text
}
