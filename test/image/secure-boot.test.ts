// @test device 160
/** Secure Boot with keys of one's own: what starts, what is refused, and what the TPM makes of it. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { openSecureBoot } from '../../image/secure-boot-signing.ts'
import { copyVariables } from '../../tools/qemu/machine.ts'
import { makeSecureBootKeys } from '../../tools/secure-boot-keys.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, makeDisk } from './images.ts'
import { commitOffline, versionOf } from './versions.ts'

const KEYS = join(import.meta.dirname, '../../dist/test-image/keys/secure-boot')
const SECOND_SHOWN = '0.2' // by the API: major and minor version
const LOADER = 'EFI/BOOT/BOOTX64.EFI'

let first: Image
let second: Image
before(async () => {
  if (onMachines().skip !== false) return
  if (!existsSync(KEYS)) {
    mkdirSync(dirname(KEYS), { recursive: true })
    makeSecureBootKeys(KEYS)
  }
  first = await buildImage({ secureBootKeys: KEYS })
  second = await buildImage({ secureBootKeys: KEYS, version: `${SECOND_SHOWN}.0` })
})

/** A disk and the machine it is in: the firmware's variables and the TPM stay when it is off. */
interface Device {
  disk: string
  variables: string
  tpm: string
}

const switchOn = (t: TestContext, device: Device, more: { exitOnRestart?: boolean; snapshot?: boolean } = {}) =>
  boot(t, first, { ...device, firmware: 'ovmf-secure', cores: 1, ...more })

async function start(t: TestContext, device: Device, work: (appliance: Appliance) => Promise<void>): Promise<void> {
  const appliance = await switchOn(t, device)
  await appliance.answers()
  await work(appliance)
  await appliance.kill()
}

async function assertOpens(appliance: Appliance, version: string): Promise<void> {
  assert.equal(await appliance.state(), 'Operational')
  assert.equal((await versionOf(appliance)).split('.').slice(0, 2).join('.'), version)
}

function copyWith(t: TestContext, device: Device, change: (esp: Esp) => void): Device {
  const disk = join(makeDirectory(t), 'disk.img')
  execFileSync('cp', ['--sparse=always', '--reflink=auto', device.disk, disk])
  change(espOf(t, disk))
  return { ...device, disk }
}

interface Esp {
  get(path: string): Buffer
  put(path: string, bytes: Uint8Array): void
  remove(path: string): void
  makeDirectory(path: string): void
}

function espOf(t: TestContext, disk: string): Esp {
  const scratch = join(makeDirectory(t), 'file')
  const mtool = (program: string, ...parameters: string[]) =>
    execFileSync(program, ['-i', `${disk}@@1M`, ...parameters], {
      env: { ...process.env, MTOOLS_SKIP_CHECK: '1' },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  return {
    get: (path) => {
      mtool('mcopy', '-n', `::${path}`, scratch)
      return readFileSync(scratch)
    },
    put: (path, bytes) => {
      writeFileSync(scratch, bytes)
      mtool('mcopy', '-o', scratch, `::${path}`)
    },
    remove: (path) => mtool('mdeltree', `::${path}`),
    makeDirectory: (path) => mtool('mmd', `::${path}`),
  }
}

function withoutSignature(t: TestContext, program: Uint8Array): Buffer {
  const copy = join(makeDirectory(t), 'program.efi')
  writeFileSync(copy, program)
  execFileSync('sbattach', ['--remove', copy], { stdio: 'ignore' })
  return readFileSync(copy)
}

function wrongImages(t: TestContext): Record<string, Uint8Array> {
  const signed = readFileSync(second.uki)
  const unsigned = withoutSignature(t, signed)
  const changed = Buffer.from(signed)
  const commandLine = changed.indexOf('console=ttyS0 ')
  assert.ok(commandLine > 0)
  changed[commandLine + 'console=ttyS'.length]! ^= 1 // ttyS1
  const keys = join(makeDirectory(t), 'keys')
  makeSecureBootKeys(keys)
  return {
    'an image without a signature': unsigned,
    'an image with one bit of its command line changed': changed,
    'an image that somebody else has signed': openSecureBoot(keys, makeDirectory(t)).sign(unsigned),
  }
}

test('the keys are enrolled; only what they vouch for starts, and only then the TPM opens', onMachines(), async (t) => {
  const home = makeDirectory(t)
  const device: Device = { disk: makeDisk(t, first), variables: copyVariables('x64', home), tpm: join(home, 'tpm') }

  await t.test('a machine without keys enrols them and starts again', async (t) => {
    const appliance = await switchOn(t, device, { exitOnRestart: false })
    await appliance.see(/Enrolling secure boot keys/i)
    await appliance.answers()
    assert.equal(await appliance.state(), 'Unprovisioned')
    await provision(appliance)
    const json = { status: 'on' }
    await expect(204, appliance.call('PUT', '/config/unattended-boot', { as: ADMIN, json }))
    await expect(204, appliance.call('POST', '/system/shutdown', { as: ADMIN }))
    assert.equal(await appliance.ended, 0)
  })

  await t.test('with Secure Boot off the device stays Locked', async (t) => {
    const off = copyWith(t, device, (esp) => esp.remove('loader/keys')) // or it would enrol again
    const variables = copyVariables('x64', makeDirectory(t))
    await start(t, { ...off, variables }, async (appliance) => {
      assert.equal(await appliance.state(), 'Locked')
      const json = { passphrase: UNLOCK_PASSPHRASE }
      const answer = await expect(500, appliance.call('POST', '/unlock', { json }))
      assert.match(answer.json<{ message: string }>().message, /Secure Boot has changed since/)
      assert.match(appliance.output(), /: Locked: The device key is withheld: Secure Boot has changed since/)
    })
  })

  const assertRefused = async (t: TestContext, refusal: RegExp, change: (esp: Esp) => void) => {
    const machine = await switchOn(t, copyWith(t, device, change), { snapshot: true })
    await machine.see(refusal)
    assert.doesNotMatch(machine.output(), /data partition|Coffer/)
    await machine.kill()
  }
  for (const [what, image] of Object.entries(wrongImages(t)))
    await t.test(`${what} is refused`, (t) =>
      assertRefused(t, /Error loading .*: (Access denied|Security violation)/i, (esp) => {
        esp.remove('EFI/Linux')
        esp.makeDirectory('EFI/Linux')
        esp.put('EFI/Linux/coffer.efi', image)
      }),
    )
  await t.test('a boot loader without a signature is refused', (t) =>
    assertRefused(t, /BdsDxe: failed to load .*: (Access Denied|Security Violation)/i, (esp) =>
      esp.put(LOADER, withoutSignature(t, esp.get(LOADER))),
    ),
  )

  await t.test('nothing of that has harmed it: a signed update opens the device key', async (t) => {
    commitOffline(device.disk, second)
    await start(t, device, (appliance) => assertOpens(appliance, SECOND_SHOWN))
  })
})
