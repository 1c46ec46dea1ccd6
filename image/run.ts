import { spawnSync } from 'node:child_process'

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

interface RunOptions {
  cwd?: string
  env?: Readonly<Record<string, string>>
}

/** Returns the output. Throws with the program's message if it fails, or with the package to install if it is missing. */
export function run(program: string, parameters: readonly string[], { cwd, env }: RunOptions = {}): string {
  const { error, status, stdout, stderr } = spawnSync(program, parameters, {
    cwd,
    // sgdisk, mke2fs and the like are where an ordinary user's PATH does not lead.
    env: { ...process.env, LC_ALL: 'C', PATH: `${process.env.PATH}:/usr/sbin:/sbin`, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: OUTPUT_BYTES_MAX,
  })
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
    throw new Error(`${program} is missing; image/README.md says which packages building an image needs`)
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${parameters.join(' ')}: ${stderr.trim() || stdout.trim()}`)
  return stdout
}
