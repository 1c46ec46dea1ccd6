/** Stands in for the process for outgoing connections, and tries what must not work there. */

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

const attempt = (name: string, action: () => unknown): void => {
  try {
    action()
    console.log(`${name}: works`)
  } catch (error) {
    console.log(`${name}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

attempt('own program', () => readFileSync(import.meta.filename))
attempt('package.json beside', () => readFileSync(`${import.meta.dirname}/../../package.json`))
attempt('/etc/passwd', () => readFileSync('/etc/passwd'))
attempt('a directory', () => readdirSync('/tmp'))
attempt('write', () => writeFileSync('/tmp/coffer-outgoing-probe', 'x'))
attempt('a program', () => spawnSync('/bin/true'))
attempt('native code', () => process.dlopen({ exports: {} }, '/tmp/evil.node'))
attempt('a thread', () => new Worker('', { eval: true }))
