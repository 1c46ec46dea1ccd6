/** tpm2-tools (5.4), the independent reading of the specification that ours is compared with. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Swtpm } from './swtpm.ts'

interface Tools {
  /** Runs a program and gives what it prints; arguments that begin with @ name files in a directory of its own. */
  run(program: string, ...parameters: string[]): string
  read(file: string): Uint8Array
  write(file: string, bytes: Uint8Array): void
}

/** The TPM talks to one of us at a time: our own transport must be closed. */
export function toolsFor(t: TestContext, { tcti }: Swtpm): Tools {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-tpm2-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return {
    run: (program, ...parameters) => {
      const { status, stdout, stderr } = spawnSync(
        program,
        parameters.map((parameter) => parameter.replace('@', `${directory}/`)),
        { env: { ...process.env, TPM2TOOLS_TCTI: tcti }, encoding: 'utf8' },
      )
      assert.equal(status, 0, `${program} ${parameters.join(' ')}: ${stderr}`)
      return stdout
    },
    read: (file) => new Uint8Array(readFileSync(join(directory, file))),
    write: (file, bytes) => writeFileSync(join(directory, file), bytes),
  }
}
