/**
 * Runs a disk image of Coffer under QEMU: its serial console is this terminal, its API is https://127.0.0.1:8443,
 * its chat https://127.0.0.1:9443.
 * The device, its disk, firmware variables and TPM, stays in a directory between runs.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { missingPackages, type QemuArchitecture, type QemuFirmware } from './qemu/arguments.ts'
import { flash } from './qemu/flash.ts'
import { acceleratorOf, copyVariables, startMachine } from './qemu/machine.ts'

const USAGE = `usage: node tools/qemu.ts [--fresh] [--arch x64|arm64] [--port 8443] [--chat-port 9443] [--memory 512] [--tpm]
  [--secure-boot] IMAGE DIRECTORY

  IMAGE      the disk image that a new device is flashed with
  DIRECTORY  keeps the device between runs; --fresh makes a new one
  --tpm, --secure-boot   what a new device has; later runs keep it so`

interface Device {
  architecture: QemuArchitecture
  firmware: QemuFirmware
  tpm: boolean
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'chat-port': { type: 'string', default: '9443' },
      arch: { type: 'string', default: 'x64' },
      fresh: { type: 'boolean', default: false },
      memory: { type: 'string', default: '512' },
      port: { type: 'string', default: '8443' },
      'secure-boot': { type: 'boolean', default: false },
      tpm: { type: 'boolean', default: false },
    },
  })
  const [image, directory] = positionals
  const architecture = values.arch
  if (!image || !directory || positionals.length > 2 || !isArchitecture(architecture)) return complain(USAGE)
  const missing = missingPackages(architecture)
  if (missing.length > 0) return complain(`install these Debian packages first: ${missing.join(' ')}`)

  const home = resolve(directory)
  if (values.fresh) rmSync(home, { recursive: true, force: true })
  const isNew = !existsSync(join(home, 'disk.img'))
  if (isNew) {
    const firmware = values['secure-boot'] ? 'ovmf-secure' : 'ovmf'
    makeDevice(home, image, { architecture, firmware, tpm: values.tpm })
  }
  const device = JSON.parse(readFileSync(join(home, 'device.json'), 'utf8')) as Device
  const accelerator = acceleratorOf(device.architecture)
  console.log(
    `${isNew ? 'A new device' : 'The device'} in ${directory} (${accelerator}), https://127.0.0.1:${values.port}, chat https://127.0.0.1:${values['chat-port']}`,
  )
  if (accelerator === 'tcg')
    console.log('Every instruction is emulated: the start takes up to a minute, and /provision about another.')
  console.log('Its serial console follows. Ctrl-A X pulls the plug.\n')
  const machine = await startMachine({
    architecture: device.architecture,
    firmware: device.firmware,
    disk: join(home, 'disk.img'),
    variables: join(home, 'variables.fd'),
    tpm: device.tpm ? join(home, 'tpm') : undefined,
    memoryMegabytes: Number(values.memory),
    apiPort: Number(values.port),
    chatPort: Number(values['chat-port']),
    isolated: false,
    watchdog: true,
    foreground: true,
  })
  return (await machine.ended) ?? 1
}

/** The disk comes last: without it there is no device. */
function makeDevice(home: string, image: string, device: Device): void {
  mkdirSync(home, { recursive: true })
  copyVariables(device.architecture, home)
  writeFileSync(join(home, 'device.json'), JSON.stringify(device))
  flash(image, join(home, 'disk.img'))
}

const isArchitecture = (text: string): text is QemuArchitecture => text === 'x64' || text === 'arm64'

function complain(text: string): number {
  console.error(text)
  return 2
}

process.exitCode = await main()
