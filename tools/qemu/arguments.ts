/** Hardware of a machine as arguments of qemu-system-x86_64 and qemu-system-aarch64 (QEMU 7.2 and newer). */

import { existsSync } from 'node:fs'
import { defined } from '../../firmware/base/defined.ts'

export type QemuArchitecture = 'x64' | 'arm64'

/** `direct` loads the kernel without any firmware; `ovmf-secure` has Secure Boot, in setup mode until keys are enrolled. */
export type QemuFirmware = 'direct' | 'ovmf' | 'ovmf-secure'

export interface Kernel {
  image: string
  initrd: string
  commandLine: string
}

export interface Hardware {
  architecture: QemuArchitecture
  firmware: QemuFirmware
  /** For `direct` only. */
  kernel?: Kernel | undefined
  /** A raw disk image. */
  disk: string
  /** The image stays as it is; what the guest writes is lost at the end. */
  snapshot?: boolean | undefined
  /** Flushes of the guest do not wait for this computer's disk: fast, and safe while only QEMU dies. */
  unsafe?: boolean | undefined
  /** Instead of `disk`: `-blockdev` arguments that end in a node named `disk`. */
  blockdevs?: string[] | undefined
  /** The firmware's variables: a writable file, not of `direct`. */
  variables?: string | undefined
  tpmSocket?: string | undefined
  memoryMegabytes: number
  /** Emulated processors; two when absent. */
  cores?: number | undefined
  /** `tcg` emulates in software, `kvm` needs /dev/kvm. */
  accelerator: string
  /** A watchdog that resets the machine (i6300esb). */
  watchdog?: boolean | undefined
  /** A SATA disk and a network card of Intel's, as in computers; otherwise both are virtual ones (virtio). */
  physical?: boolean | undefined
  /** A restart of the guest ends QEMU. */
  exitOnRestart?: boolean | undefined
  guestAddress: string
  /** Port of 127.0.0.1 to port of the guest. */
  forwards: [here: number, guest: number][]
  isolated: boolean
  /** Instead of a network of its own with these forwards: a Unix socket that carries frames, or a tap device of this computer. */
  cable?: (({ socket: string } | { tap: string }) & { macAddress: string }) | undefined
  extra?: string[] | undefined
}

/** A port of 127.0.0.1 to a port of the guest at an address. */
interface Forward {
  here: number
  address: string
  guest: number
}

/** Debian's package for each file that a machine needs and this computer may lack. */
const PACKAGES: Record<QemuArchitecture, Record<string, string>> = {
  x64: {
    '/usr/bin/qemu-system-x86_64': 'qemu-system-x86',
    '/usr/share/OVMF/OVMF_CODE_4M.fd': 'ovmf',
    '/usr/bin/swtpm': 'swtpm',
    '/usr/bin/setpriv': 'util-linux',
  },
  arm64: {
    '/usr/bin/qemu-system-aarch64': 'qemu-system-arm',
    '/usr/share/AAVMF/AAVMF_CODE.fd': 'qemu-efi-aarch64',
    '/usr/bin/swtpm': 'swtpm',
    '/usr/bin/setpriv': 'util-linux',
  },
}

/** The Debian packages to install before a machine can run; none when all is there. */
export function missingPackages(architecture: QemuArchitecture): string[] {
  const needed = Object.entries(PACKAGES[architecture])
  return needed.filter(([file]) => !existsSync(file)).map(([, name]) => name)
}

export const programOf = (architecture: QemuArchitecture): string =>
  architecture === 'x64' ? 'qemu-system-x86_64' : 'qemu-system-aarch64'

/** The firmware's variables as they leave the factory, to be copied for each machine. */
export const variablesTemplate = (architecture: QemuArchitecture): string =>
  architecture === 'x64' ? '/usr/share/OVMF/OVMF_VARS_4M.fd' : '/usr/share/AAVMF/AAVMF_VARS.fd'

/** Without the serial console, which each caller connects as it likes. */
export function argumentsOf(hardware: Hardware): string[] {
  return [
    ['-nodefaults', '-no-user-config', '-display', 'none'],
    machine(hardware),
    ['-smp', String(hardware.cores ?? CORES), '-m', String(hardware.memoryMegabytes)],
    boot(hardware),
    disk(hardware),
    network(hardware),
    ['-device', 'virtio-rng-pci'],
    hardware.tpmSocket === undefined ? [] : tpm(hardware.architecture, hardware.tpmSocket),
    hardware.watchdog ? ['-device', 'i6300esb', '-action', 'watchdog=reset'] : [],
    hardware.exitOnRestart ? ['-no-reboot'] : [],
    hardware.extra ?? [],
  ].flat()
}

const CORES = 2

/**
 * Processor features without those that make emulation slow: five levels of page tables, each of which is walked in software,
 * protection keys, whose every change (V8 makes many) empties the emulated TLB, and fast copies of strings, because a
 * kernel that sees them copies and clears memory by single bytes.
 */
const CPU = 'max,la57=off,pku=off,erms=off'

/**
 * Emulated processors take turns. With a thread for each, QEMU 7.2 goes on executing what the guest has overwritten: it was
 * translated while another thread replaced it. A kernel that puts a breakpoint into its own code for a moment, as Linux does
 * at each start, then meets it for ever, with nothing said: one start in some 70 on a busy computer.
 */
const TAKING_TURNS = 'tcg,thread=single'

function machine({ architecture, firmware, accelerator }: Hardware): string[] {
  const by = ['-accel', accelerator === 'tcg' ? TAKING_TURNS : accelerator]
  if (architecture === 'arm64') {
    const cpu = accelerator === 'kvm' ? 'host' : 'cortex-a57' // `max` emulates pointer authentication, at a third of the speed
    return ['-machine', 'virt', ...by, '-cpu', cpu]
  }
  const secure = firmware === 'ovmf-secure'
  return [
    ...['-machine', `q35${secure ? ',smm=on' : ''}`, ...by, '-cpu', CPU],
    // Only code in system management mode may write the variables; sleep would leave that mode unguarded.
    ...(secure ? ['-global', 'driver=cfi.pflash01,property=secure,value=on', '-global', 'ICH9-LPC.disable_s3=1'] : []),
  ]
}

function boot({ architecture, firmware, kernel, variables }: Hardware): string[] {
  if (firmware === 'direct') {
    if (kernel === undefined) throw new Error('direct boot needs a kernel')
    return ['-kernel', kernel.image, '-initrd', kernel.initrd, '-append', kernel.commandLine]
  }
  if (variables === undefined) throw new Error(`${firmware} needs a file for its variables`)
  const x64 = firmware === 'ovmf' ? '/usr/share/OVMF/OVMF_CODE_4M.fd' : '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd'
  const code = architecture === 'x64' ? x64 : '/usr/share/AAVMF/AAVMF_CODE.fd'
  return [
    ...['-drive', `if=pflash,format=raw,unit=0,readonly=on,file=${escaped(code)}`],
    ...['-drive', `if=pflash,format=raw,unit=1,file=${escaped(variables)}`],
  ]
}

function disk({ disk, snapshot, unsafe, blockdevs, physical }: Hardware): string[] {
  const device = ['-device', `${physical ? 'ide-hd' : 'virtio-blk-pci'},drive=disk,bootindex=1`]
  if (blockdevs !== undefined) return [...blockdevs.flatMap((node) => ['-blockdev', node]), ...device]
  const cache = snapshot || unsafe ? 'unsafe' : 'writeback'
  const drive = `if=none,id=disk,format=raw,cache=${cache},snapshot=${snapshot ? 'on' : 'off'},file=${escaped(disk)}`
  return ['-drive', drive, ...device]
}

function network({ guestAddress, forwards, isolated, cable, physical }: Hardware): string[] {
  const own = forwards.map(([here, guest]) => ({ here, address: guestAddress, guest }))
  const address = cable === undefined ? '' : `,mac=${cable.macAddress}`
  return [
    ...['-netdev', cable === undefined ? userNetwork({ forwards: own, isolated }) : cableNetwork(cable)],
    ...['-device', `${physical ? 'e1000e' : 'virtio-net-pci'},netdev=net,romfile=${address}`],
  ]
}

const cableNetwork = (cable: NonNullable<Hardware['cable']>): string =>
  'tap' in cable ? `tap,id=net,ifname=${escaped(cable.tap)},script=no,downscript=no` : `stream,id=net,${endOf(cable)}`

/** The end of a cable at a machine: the other one is there already. */
export const endOf = ({ socket }: { socket: string }): string =>
  `server=off,addr.type=unix,addr.path=${escaped(socket)}`

/** A network of 24 bits, with ports of 127.0.0.1 that lead to its machines; qemu(1) calls it `net`. */
export function userNetwork({ forwards, isolated }: { forwards: Forward[]; isolated: boolean }): string {
  const prefix = defined(forwards[0]).address.replace(/\.\d+$/, '') // its own addresses keep away from a guest's usual ones
  const net = `net=${prefix}.0/24,host=${prefix}.254,dns=${prefix}.253,dhcpstart=${prefix}.200`
  const forwarded = forwards.map(({ here, address, guest }) => `,hostfwd=tcp:127.0.0.1:${here}-${address}:${guest}`)
  return `user,id=net,${net},restrict=${isolated ? 'on' : 'off'}${forwarded.join('')}`
}

function tpm(architecture: QemuArchitecture, socket: string): string[] {
  const device = architecture === 'x64' ? 'tpm-crb' : 'tpm-tis-device'
  return [
    ...['-chardev', `socket,id=tpm,path=${escaped(socket)}`, '-tpmdev', 'emulator,id=tpm0,chardev=tpm'],
    ...['-device', `${device},tpmdev=tpm0`],
  ]
}

/** Commas separate QEMU's options. */
export const escaped = (path: string): string => path.replaceAll(',', ',,')
