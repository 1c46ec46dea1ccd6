// @test long 90
/**
 * The published Rust crates nethsm and nethsm-cli: their README as it stands there, a day with the command from a new appliance to a
 * restored backup, with signatures that OpenSSL and OpenPGP programs verify; and the test suite of the crate.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { defined } from '../../firmware/base/defined.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { buildForTests } from '../support/build.ts'
import type { Target } from '../support/client.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs, needsRustClient, RUST_NETHSM } from '../support/tools.ts'

const DAY_MS_MAX = 600_000

/** At the start, and after the factory reset. */
const RESET = /: Unprovisioned[\s\S]*: Unprovisioned/

const run = promisify(execFile)

/** The crates read format 0 alone. A NetHSM of today writes format 1, contract section 8.1, as ours do. */
const VALIDATION = 'nethsm system validate-backup "$NETHSM_BACKUP_OUTPUT_FILE"'
const REFUSAL = 'Unsupported backup version number: [1]'

const options = (program: string) => {
  const built = needsRustClient(join(RUST_NETHSM, program), 'Rust 1.96.1 or later, then .ci/rust-nethsm')
  return built.skip === false ? needs('gpg', 'jq', 'openssl', 'sqop') : built
}

test('the README of nethsm-cli 0.10.0', options('nethsm-cli/nethsm'), async (t) => {
  const coffer = startCoffer(t, { program: await buildForTests(), data: makeDataDirectory(t) })
  await runReadme(t, 'nethsm-cli', await coffer.target())
  await coffer.see(RESET)
})

test('the README of nethsm 0.12.0, with requests that lack accept', options('nethsm/nethsm'), async (t) => {
  const coffer = startCoffer(t, { program: await buildForTests(), data: makeDataDirectory(t) })
  await runReadme(t, 'nethsm', await withoutAccept(t, await coffer.target()))
  await coffer.see(RESET)
})

async function runReadme(t: TestContext, crate: string, { host, port }: Target): Promise<void> {
  const directory = join(RUST_NETHSM, crate)
  const script = scriptOf(readFileSync(join(directory, 'README.md'), 'utf8'))
  const path = [directory, join(RUST_NETHSM, 'tools/bin'), process.env.PATH].join(delimiter)
  const here = script.replaceAll('localhost:8443', `${host}:${port}`)
  const { stderr } = await run('bash', ['-xeuo', 'pipefail', '-c', here], {
    cwd: directory,
    env: { ...process.env, PATH: path, TMPDIR: makeDataDirectory(t) },
    timeout: DAY_MS_MAX,
    maxBuffer: 1 << 26,
  }).catch((error: { stderr: string }) => assert.fail(error.stderr.slice(-4000)))
  assert.match(stderr, /\+ nethsm --user admin1 system factory-reset\n/)
}

/** The blocks that its authors run, in their order, with the restore of the backup that was made, and with the reset at the end. */
function scriptOf(readme: string): string {
  const blocks = [...readme.matchAll(/^```bash( no_run)?\n([\s\S]*?)^```$/gm)].map(([, isLeftOut, block]) => ({
    isLeftOut: isLeftOut !== undefined,
    text: defined(block),
  }))
  const blockOf = (command: string) => defined(blocks.find(({ text }) => text.includes(command))).text
  const [restore, reset] = [blockOf('system restore'), blockOf('system factory-reset')]
  const cleanUp = blockOf('rm -r --')
  const day = blocks.filter(({ isLeftOut, text }) => text === restore || (!isLeftOut && text !== cleanUp))
  const script = day.map(({ text }) => (text === restore ? around(restore) : text)).join('\n')
  assert.equal(script.split(VALIDATION).length, 2)
  const refused = `! ${VALIDATION} 2> refusal && grep -F '${REFUSAL}' refusal`
  return `${script.replace(VALIDATION, refused)}\n${reset}\n${cleanUp}`
}

/** A key that is gone after the backup signs after its restore. */
const around = (restore: string): string => `
nethsm --user admin1 key remove signing1
! nethsm --user admin1 key get signing1
${restore}
export NETHSM_KEY_PUBKEY_OUTPUT_FILE="$nethsm_tmpdir/restored.pem"
nethsm --user operator1 key sign --force signing1 EdDsa README.md
nethsm --user operator1 key public-key --force signing1
openssl pkeyutl -verify -in README.md -rawin -sigfile "$NETHSM_KEY_SIGNATURE_OUTPUT_FILE" -inkey "$NETHSM_KEY_PUBKEY_OUTPUT_FILE" -pubin
`

/** An end that passes requests on without this header, as nethsm-sdk-rs 5.0.0 sends them. */
async function withoutAccept(t: TestContext, to: Target): Promise<Target> {
  const { key, cert } = await makeTlsIdentity(systemRandom)
  let removed = 0
  const server = createServer({ key: Buffer.from(key), cert }, (incoming, outgoing) => {
    const { accept, ...headers } = incoming.headers
    if (accept !== undefined) removed++
    const { method, url } = incoming
    const passed = request({ ...to, method, path: url, headers, rejectUnauthorized: false, agent: false }, (answer) => {
      outgoing.writeHead(defined(answer.statusCode), answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    assert.ok(removed > 0, 'the command sends accept')
  })
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}
