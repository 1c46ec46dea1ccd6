/** The appliance as a machine: what it is, backups, updates, restarts, its end. */

import { defined } from '../../../firmware/base/defined.ts'
import type { Client } from '../../../firmware/client/client.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure } from '../failure.ts'
import { counted, createProgress, size, uploadOf, writeWhole } from '../files.ts'
import { members, plain } from '../output.ts'
import { confirm } from '../terminal.ts'
import { certain, timeOf, waitFor } from './start.ts'

const roles = ['Administrator'] as const
const RESTART_SECONDS = 300
const FORCE = { force: { short: 'f', summary: 'no confirmation' } } as const

export const RESTORE = {
  'backup-passphrase': {
    short: 'p',
    value: '@FILE',
    secret: true,
    summary: 'file with the passphrase of the backup',
  },
  'system-time': { short: 't', value: 'TIME', summary: 'time to set; default: time of this computer' },
  ...FORCE,
} as const

export const SYSTEM: Command[] = [
  {
    words: 'backup create',
    summary: 'Make a backup. Only a complete one gets the name.',
    roles: ['Backup'],
    options: {
      output: { value: 'FILE', summary: 'output file, or "-" for stdout; default: coffer-TIME.backup' },
      format: {
        value: 'FORM',
        choices: ['nethsm', 'coffer'],
        summary: 'default: nethsm if that holds everything, else coffer',
      },
    },
    example: 'coffer backup create --output today.backup',
    isFirst: true,
    run: async (context, input) => {
      const now = new Date().toISOString().slice(0, 19).replace(/[-:]/g, '')
      await createBackup(context, input.text('output') ?? `coffer-${now}.backup`)
    },
  },
  {
    words: 'backup restore',
    arguments: 'FILE',
    summary: 'Replace all users, keys and namespaces with those of a backup.',
    roles,
    options: RESTORE,
    example: 'coffer backup restore today.backup --force',
    run: (context, input) => restoreBackup(context, input, input.argument(0)),
  },
  {
    words: 'backup status',
    summary: 'Show the time of the last complete backup, and what a backup in NetHSM’s format would omit.',
    roles: ['Administrator', 'Backup'],
    example: 'coffer backup status',
    run: async ({ client, output }) => output.result(await client().backupStatus()),
  },
  {
    words: 'backup restore-report',
    summary: 'Show what the last restore omitted.',
    roles,
    example: 'coffer backup restore-report',
    run: async ({ client, output }) => output.result(await client().restoreReport()),
  },
  {
    words: 'update',
    arguments: 'FILE',
    summary: 'Upload an update, show its notes, ask, install it, and wait for the end of its trial.',
    roles,
    options: {
      yes: { summary: 'no confirmation' },
      'upload-only': { summary: 'only upload it; leave it pending' },
      'unlock-passphrase': {
        value: '@FILE',
        secret: true,
        summary: 'file with the unlock passphrase, for the restart of an attended appliance',
      },
    },
    example: 'coffer update coffer-0.3.0.update',
    run: update,
  },
  {
    words: 'commit-update',
    summary: 'Restart into the pending update.',
    roles,
    example: 'coffer commit-update',
    run: async (context) => {
      await context.client().commitUpdate()
      context.output.note('It restarts')
    },
  },
  {
    words: 'cancel-update',
    summary: 'Discard the pending update.',
    roles,
    example: 'coffer cancel-update',
    run: ({ client }) => client().cancelUpdate(),
  },
  {
    words: 'system info',
    summary: 'Show versions, device id and TPM registers.',
    roles,
    example: 'coffer system info',
    run: showInfo,
  },
  {
    words: 'system software',
    summary: 'Show the arithmetic in use and the result of the last update.',
    roles,
    example: 'coffer system software',
    run: async ({ client, output }) => output.result(await client().software()),
  },
  {
    words: 'diagnose',
    summary: 'Show why the appliance is Failed.',
    roles,
    example: 'coffer diagnose',
    run: async ({ client, open, output }) => {
      const isOpen = (await open().state()) !== 'Operational'
      output.result(await (isOpen ? open() : client()).diagnose())
    },
  },
  {
    words: 'metrics',
    summary: 'Show counters since the start.',
    roles: ['Metrics'],
    options: { prometheus: { summary: 'in the format of Prometheus' } },
    example: 'coffer metrics',
    run: async ({ client, output }, input) => {
      if (input.flag('prometheus')) return output.raw(Buffer.from(await client().metrics({ accept: 'text/plain' })))
      output.result(JSON.parse(await client().metrics()))
    },
  },
  {
    words: 'system reboot',
    summary: 'Restart the appliance.',
    roles,
    options: FORCE,
    example: 'coffer system reboot --force',
    run: reboot,
  },
  {
    words: 'system shutdown',
    summary: 'Shut the appliance down.',
    roles,
    options: FORCE,
    example: 'coffer system shutdown --force',
    run: shutdown,
  },
  {
    words: 'system factory-reset',
    summary: 'Erase everything permanently.',
    roles,
    options: FORCE,
    example: 'coffer system factory-reset --force',
    run: factoryReset,
  },
]

export async function createBackup({ client, input, output, signal }: CommandContext, file: string): Promise<void> {
  const format = input.text('format') as 'nethsm' | 'coffer' | undefined
  const answer = await client().backup(format, { signal })
  const omits = answer.headers.get('coffer-backup-omits')
  if (omits !== null) output.note(`The backup is incomplete. It omits: ${omits}`)
  if (file === '-') {
    for await (const piece of counted(defined(answer.body), () => {})) output.raw(piece)
    return
  }
  const progress = createProgress(file)
  let total = 0
  const pieces = counted(defined(answer.body), (bytes) => {
    total = bytes
    progress.at(bytes)
  })
  await writeWhole(file, pieces, signal)
  progress.end()
  output.note(`${file}: ${size(total)}. It is opened by the backup passphrase and the unlock passphrase of today.`)
}

export async function restoreBackup(context: CommandContext, input: OptionValues, file: string): Promise<void> {
  const { open, client, output, passphrase, signal } = context
  const state = await open().state()
  if (state === 'Locked' || state === 'Failed') throw new Failure(EXIT.state, `the appliance is ${state}`)
  if (state === 'Operational')
    await certain(input.flag('force'), 'All users, keys and namespaces are replaced.', 'restore')
  const backupPassphrase = await passphrase('backup-passphrase', 'Passphrase of the backup')
  const upload = uploadOf(file, (bytes) => {
    progress.at(bytes)
    if (bytes === upload.bytes) {
      progress.end()
      output.note('All of it is there; it is checked and installed now')
    }
  })
  const progress = createProgress(file, upload.bytes)
  const api = state === 'Operational' ? client() : open()
  await api.restore(upload, { backupPassphrase, systemTime: timeOf(input.text('system-time')) }, { signal })
  output.note(`Restored. It is ${await open().state()} now.`)
  if (state === 'Unprovisioned')
    output.note(`Its TLS key is that of the backup from now on: coffer connect ${context.url()}`)
}

async function update(context: CommandContext, input: OptionValues): Promise<void> {
  const { client, output, signal } = context
  const [file = ''] = input.arguments
  const upload = uploadOf(file, (bytes) => progress.at(bytes))
  const progress = createProgress(file, upload.bytes)
  const api = client()
  const releaseNotes = await api.update(upload, { signal })
  progress.end()
  output.result({ releaseNotes }, () => releaseNotes.split(/\r?\n/).map(plain).join('\n'))
  if (input.flag('upload-only')) return output.note('It is pending: coffer commit-update or coffer cancel-update')
  if (!input.flag('yes')) {
    if (process.stdin.isTTY !== true) return output.note('It is pending: coffer commit-update or coffer cancel-update')
    if (!(await confirm('Install it?'))) {
      await api.cancelUpdate()
      throw new Failure(EXIT.refused, 'not installed, and no longer pending')
    }
  }
  const before = await buildOf(api)
  await api.commitUpdate()
  output.note('It restarts')
  let wasAway = false
  const state = await waitFor(context, ['Operational', 'Locked'], RESTART_SECONDS, (state) => {
    wasAway ||= state === null
    return wasAway
  })
  if (state === 'Locked') {
    output.note('It is Locked, and has to be unlocked to prove good')
    await context.open().unlock(await context.passphrase('unlock-passphrase', 'Unlock passphrase'))
  }
  await untilGood(context, before)
}

/** On trial every answer is 503. */
async function untilGood({ client, output }: CommandContext, before: string): Promise<void> {
  const [build, software] = await Promise.all([buildOf(client()), client().software()])
  if (software.updateFallback !== undefined)
    throw new Failure(EXIT.refused, `the update was rolled back: ${JSON.stringify(software.updateFallback)}`)
  const named = software.version === undefined ? build : `version ${software.version}, build ${build},`
  output.note(build === before ? `It is ${named} as before` : `It is ${named} now, and good`)
}

const buildOf = async (api: Client): Promise<string> =>
  (await api.software()).build ?? (await api.systemInfo()).softwareBuild

/** `softwareVersion` is that of the API; people read the appliance's own, and programs what the API sent. */
async function showInfo({ client, output }: CommandContext): Promise<void> {
  const [info, { version, build }] = await Promise.all([client().systemInfo(), client().software()])
  const { softwareVersion, softwareBuild, ...rest } = info
  const own = version === undefined ? { version: softwareVersion, build: softwareBuild } : { version, build }
  output.result(info, () => members({ ...own, apiVersion: softwareVersion, ...rest }))
}

async function asMayBe({ client, open }: CommandContext) {
  return (await open().state()) === 'Operational' ? client() : open()
}

export async function reboot(context: CommandContext, input: OptionValues): Promise<void> {
  await certain(input.flag('force'), 'The appliance restarts.', 'reboot')
  await (await asMayBe(context)).reboot()
}

export async function shutdown(context: CommandContext, input: OptionValues): Promise<void> {
  await certain(input.flag('force'), 'The appliance goes off.', 'shutdown')
  await (await asMayBe(context)).shutdown()
}

export async function factoryReset(context: CommandContext, input: OptionValues): Promise<void> {
  await certain(input.flag('force'), 'Every key is lost for ever.', 'reset')
  await (await asMayBe(context)).factoryReset()
}
