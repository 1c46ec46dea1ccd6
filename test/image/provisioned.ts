/**
 * Disks of devices that have had their first start, for tests of what comes after it. The store is made by Coffer on this
 * computer, where provisioning takes a second: a machine that is emulated takes half a minute.
 */

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openDeviceKey } from '../../boot/base/device-key-file.ts'
import { MAKE_FILE_SYSTEM } from '../../boot/device/data-partition.ts'
import { FIRMWARE_ID } from '../../boot/device/launcher.ts'
import { createMinimumVersion } from '../../boot/device/minimum-version.ts'
import { provision } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { type Image, makeDirectory, makeDisk } from './images.ts'
import { findPartition } from './replay.ts'

const OLDEST = '0.0.0'

let program: Promise<string> | undefined

/** A disk of the test's own, provisioned and then changed by `work`. Its device key is in a file. */
export async function makeProvisionedDisk(
  t: TestContext,
  image: Image,
  work: (coffer: Coffer) => Promise<void>,
  bytes?: number,
): Promise<string> {
  const data = makeDataDirectory(t)
  program ??= buildForTests()
  const coffer = startCoffer(t, { program: await program, data })
  await provision(coffer)
  await work(coffer)
  await coffer.stop()

  const content = join(makeDirectory(t), 'content')
  const storeDirectory = join(content, 'store')
  mkdirSync(content)
  cpSync(join(data, 'device.key'), join(content, 'device.key'))
  const path = join(content, 'minimum-version')
  createMinimumVersion({ path, storeDirectory, version: OLDEST, rollbackFloor: OLDEST, counter: null }).guard(
    openDeviceKey(join(content, 'device.key'), storeDirectory),
  )
  cpSync(join(data, 'store'), storeDirectory, { recursive: true })

  const disk = makeDisk(t, image, bytes)
  execFileSync('sfdisk', ['--quiet', '-N', '4', disk], { input: ',+\n', stdio: 'pipe' }) // the last one
  const partition = findPartition(disk, 'coffer-data')
  const file = join(content, '../data.img')
  writeFileSync(file, '')
  truncateSync(file, partition.bytes)
  execFileSync('mke2fs', [...MAKE_FILE_SYSTEM, '-d', content, file])
  const owned = ['/store', ...readdirSync(storeDirectory).map((name) => `/store/${name}`)]
  const owners = owned.flatMap((one) => ['uid', 'gid'].map((of) => `set_inode_field ${one} ${of} ${FIRMWARE_ID}\n`))
  execFileSync('debugfs', ['-w', '-f', '-', file], {
    input: ['set_inode_field / mode 040711\n', ...owners].join(''),
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  execFileSync(
    'dd',
    [`if=${file}`, `of=${disk}`, 'bs=1M', `seek=${partition.start / 1024 ** 2}`, 'conv=notrunc,sparse'],
    {
      stdio: 'ignore',
    },
  )
  return disk
}
