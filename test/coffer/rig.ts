/** The command as its users have it: one file, run by a Node, in a directory and with profiles of its own. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildCommand } from '../../tools/build-command.ts'
import { meet } from '../../tools/coffer/transport.ts'
import type { Appliance } from '../support/suite.ts'

export interface Run {
  code: number | null
  stdout: string
  stderr: string
}

export interface Rig {
  directory: string
  environment: Record<string, string>
  coffer(...line: string[]): Promise<Run>
  shell(line: string, environment?: Record<string, string>): Promise<Run>
  /** Makes the profile, whatever key the appliance has. */
  connect(appliance: Pick<Appliance, 'host' | 'port'>): Promise<void>
  dispose(): void
}

/** Answers as the suites do: everybody's passphrase is told by the name. */
const ASKPASS = `#!/bin/sh
case "$1" in
*backup*) echo words that open a backup ;;
*nlock*) echo words that unlock it ;;
*admin*) echo words of the administrator ;;
*) echo words of \${1##* } ;;
esac
`

export async function createRig(node = process.execPath): Promise<Rig> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-command-'))
  const { text } = await buildCommand()
  const program = join(directory, 'coffer')
  // The name that `npm install --global` gives it has no extension: this says that it is a module.
  writeFileSync(join(directory, 'coffer.mjs'), text)
  writeFileSync(program, `#!/bin/sh\nexec ${JSON.stringify(node)} ${directory}/coffer.mjs "$@"\n`, {
    mode: 0o755,
  })
  writeFileSync(join(directory, 'askpass'), ASKPASS, { mode: 0o755 })
  const environment: Record<string, string> = {
    PATH: `${directory}:${process.env.PATH}`,
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, 'config'),
    COFFER_ASKPASS: join(directory, 'askpass'),
  }
  const run = (file: string, line: string[], more = {}): Promise<Run> =>
    new Promise((done, fail) => {
      // A session of its own has no terminal.
      const child = spawn(file, line, {
        cwd: directory,
        env: { ...environment, ...more },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (bytes) => (stdout += bytes))
      child.stderr.on('data', (bytes) => (stderr += bytes))
      child.once('error', fail)
      child.once('close', (code) => done({ code, stdout, stderr }))
    })
  const rig: Rig = {
    directory,
    environment,
    coffer: (...line) => run(program, line),
    shell: (line, more) => run('/bin/sh', ['-c', line], more),
    async connect({ host, port }) {
      const url = `https://${host}:${port}`
      const { pin } = await meet(url)
      const { code, stderr } = await rig.coffer('connect', url, '--fingerprint', pin)
      if (code !== 0) throw new Error(stderr)
    },
    dispose: () => rmSync(directory, { recursive: true, force: true }),
  }
  return rig
}
