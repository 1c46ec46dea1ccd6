import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { file } from './support.ts'

test('an RSA key is made by a process that is nicer already, and may not be less so', () => {
  const program = `
    import { createPool } from '${new URL('../../firmware/crypto/pool/pool.ts', import.meta.url)}'
    const pool = createPool({ workers: 1, entry: new URL('${new URL('../../firmware/crypto/pool/worker.ts', import.meta.url)}') })
    const { type } = await pool.generate('RSA', 1024)
    console.log(type)
    await pool.close()`
  // Root may lower a niceness by its capability alone.
  const ordinary = process.getuid!() === 0 ? ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-sys_nice'] : []
  for (const niceness of ['10', '19']) {
    const command = [...ordinary, 'nice', '-n', niceness, process.execPath, file('niceness.mjs', program)]
    const { stdout, stderr } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' })
    assert.equal(stdout, 'RSA\n', stderr)
  }
})
