/** Machines under QEMU: started with their TPM, connected to a console, and never left behind. */

import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../firmware/base/defined.ts'
import { freePorts } from '../free-ports.ts'
import {
  argumentsOf,
  escaped,
  type Hardware,
  programOf,
  type QemuArchitecture,
  variablesTemplate,
} from './arguments.ts'
import { type Console, createConsole } from './serial-console.ts'

/** The guest's ports, as boot/device sets them. */
export const API_PORT = 8443
const CHAT_PORT = 9443
const GUEST_ADDRESS = '192.168.1.1' // of a fresh appliance
const MEMORY_MEGABYTES = 512

type Chosen = Omit<Hardware, 'tpmSocket' | 'forwards'>

export interface MachineOptions extends Partial<Omit<Chosen, 'disk' | 'firmware'>>, Pick<Chosen, 'disk' | 'firmware'> {
  /** Directory of swtpm's state; made when it is missing. */
  tpm?: string | undefined
  /** Port of 127.0.0.1 for the guest's API; the system chooses when absent. */
  apiPort?: number | undefined
  /** Port of 127.0.0.1 for the guest's chat; not forwarded when absent. */
  chatPort?: number | undefined
  guestPorts?: number[] | undefined
  /** QEMU's own terminal is this one: no console for the caller. Ctrl-A X ends the machine, Ctrl-A H helps. */
  foreground?: boolean | undefined
}

export interface Machine extends Console {
  pid: number
  /** Port of 127.0.0.1. */
  apiPort: number
  portTo(guest: number): number
  running(): boolean
  /** Has QEMU's monitor do something, as people would ask it to. Not of a machine in the foreground. */
  command(text: string): Promise<string>
  /** Where each processor is, as its registers say; when QEMU does not tell, why. Never rejects. */
  processors(): Promise<string>
  /** Resolves with QEMU's exit code; null when it was killed. */
  readonly ended: Promise<number | null>
  kill(): Promise<void>
}

/** Without COFFER_QEMU_ACCEL, and for machines of another kind than this one, what every computer can do. */
export const acceleratorOf = (architecture: QemuArchitecture): string =>
  architecture === process.arch ? (process.env.COFFER_QEMU_ACCEL ?? 'tcg') : 'tcg'

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { tpm, apiPort, chatPort, guestPorts = [], foreground = false, ...parts } = options
  const scratch = mkdtempSync(join(tmpdir(), 'coffer-qemu-'))
  const cleanUp = () => rmSync(scratch, { recursive: true, force: true })
  try {
    const architecture = parts.architecture ?? 'x64'
    const [api, ...others] = await freePorts(1 + guestPorts.length)
    const forwards: [number, number][] = [[apiPort ?? defined(api), API_PORT]]
    if (chatPort !== undefined) forwards.push([chatPort, CHAT_PORT])
    for (const [i, guest] of guestPorts.entries()) forwards.push([defined(others[i]), guest])
    const hardware: Hardware = {
      memoryMegabytes: MEMORY_MEGABYTES,
      accelerator: acceleratorOf(architecture),
      guestAddress: GUEST_ADDRESS,
      isolated: true,
      ...parts,
      architecture,
      forwards,
    }
    if (hardware.firmware !== 'direct') hardware.variables ??= copyVariables(architecture, scratch)
    if (tpm !== undefined) hardware.tpmSocket = await startTpm(tpm, scratch)
    return startQemu(hardware, foreground ? null : join(scratch, 'monitor'), cleanUp)
  } catch (error) {
    cleanUp()
    throw error
  }
}

export function copyVariables(architecture: QemuArchitecture, directory: string): string {
  const path = join(directory, 'variables.fd')
  copyFileSync(variablesTemplate(architecture), path)
  return path
}

/** `monitor` is where QEMU is to listen for commands; null: in the foreground, with serial console and monitor here. */
function startQemu(hardware: Hardware, monitor: string | null, cleanUp: () => void): Machine {
  const foreground = monitor === null
  const serial = foreground
    ? ['-serial', 'mon:stdio']
    : [
        ...['-chardev', 'stdio,id=serial,signal=off', '-serial', 'chardev:serial'],
        ...['-qmp', `unix:${escaped(monitor)},server=on,wait=off`],
      ]
  const child = spawnBound([programOf(hardware.architecture), ...argumentsOf(hardware), ...serial], foreground)
  let running = true
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      running = false
      cleanUp()
      resolve(code)
    })
  })
  ended.catch(() => {}) // callers that await it get the error
  child.stdin?.on('error', () => {}) // it ended while we typed
  const console = createConsole({ received: printed(child, ended), send: (text) => child.stdin?.write(text) })
  const command = async (text: string): Promise<string> => {
    if (foreground) throw new Error('The monitor of this machine is in its terminal')
    return askMonitor(monitor, text)
  }
  const ports = new Map(hardware.forwards.map(([here, guest]) => [guest, here]))
  return {
    ...console,
    get pid() {
      return defined(child.pid)
    },
    apiPort: defined(ports.get(API_PORT)),
    portTo: (guest) => defined(ports.get(guest)),
    running: () => running,
    command,
    processors: async () => (await command('info registers -a').catch(String)).replaceAll(VECTOR_REGISTERS, ''),
    ended,
    kill: async () => {
      if (running) child.kill('SIGKILL')
      await ended
    },
  }
}

/** The serial console, then QEMU's own complaints and exit code, which explain an early end. */
async function* printed(child: ChildProcess, ended: Promise<number | null>): AsyncIterable<string> {
  if (!child.stdout || !child.stderr) return
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaints += text
  })
  yield* child.stdout.setEncoding('utf8') as AsyncIterable<string>
  if (complaints !== '') yield complaints
  const code = await ended
  if (code !== 0) yield `QEMU ended with ${code ?? child.signalCode}\n`
}

const MONITOR_MS_MAX = 60_000
const VECTOR_REGISTERS = /^(?:FPR|XMM|YMM|ZMM|Opmask|Q)\d.*\r?\n/gm

/** A command for people, by the QEMU Machine Protocol (QMP): a greeting, then an answer to each line, events among them. */
async function askMonitor(path: string, command: string): Promise<string> {
  const socket = connect(path)
  const lines = createInterface(socket)
  socket.setTimeout(MONITOR_MS_MAX, () => lines.close())
  try {
    for (const line of [
      { execute: 'qmp_capabilities' },
      { execute: 'human-monitor-command', arguments: { 'command-line': command }, id: 'answer' },
    ])
      socket.write(`${JSON.stringify(line)}\n`)
    for await (const line of lines) {
      const message = JSON.parse(line) as { id?: string; return?: unknown }
      if (message.id === 'answer') return String(message.return)
    }
    throw new Error('the monitor of QEMU gave no answer')
  } finally {
    socket.destroy()
  }
}

const TPM_START_MS_MAX = 10_000

/** Resolves with the socket to connect to. swtpm ends with the connection. */
async function startTpm(state: string, scratch: string): Promise<string> {
  mkdirSync(state, { recursive: true })
  const socket = join(scratch, 'tpm')
  const control = ['--ctrl', `type=unixio,path=${socket}`, '--terminate']
  const swtpm = spawnBound(['swtpm', 'socket', '--tpm2', '--tpmstate', `dir=${state}`, ...control], false)
  let complaints = ''
  defined(swtpm.stderr)
    .setEncoding('utf8')
    .on('data', (text: string) => {
      complaints += text
    })
  swtpm.once('error', (error) => {
    complaints += error.message
  })
  const deadline = Date.now() + TPM_START_MS_MAX
  while (!existsSync(socket)) {
    if (swtpm.exitCode !== null || Date.now() > deadline) throw new Error(`swtpm does not start: ${complaints}`)
    await wait(10)
  }
  return socket
}

/** A process that dies with this one, however this one dies. */
function spawnBound(command: string[], foreground: boolean): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: foreground ? 'inherit' : 'pipe' })
}
